/* Marks tables that are wider than the screen, so that site.css can say that they scroll. */
function markTables() {
  for (const wrapper of document.querySelectorAll(".table-wrapper")) {
    wrapper.classList.toggle("scrolls", wrapper.scrollWidth > wrapper.clientWidth + 1);
  }
}
window.addEventListener("load", markTables);
window.addEventListener("resize", markTables);

/* Ctrl-C while a kernel runs: asks Python at intervals whether there was a signal. */
#include "interrupt.h"

#include <time.h>
#ifdef _WIN32
#define NOGDI /* it defines common words as macros */
#include <windows.h>
#endif

/* Asking takes the GIL, and another thread may hold it for 5 ms. */
#define ASKED_EVERY 0.05

static double seconds(void) {
#ifdef _WIN32 /* its C library may lack timespec_get of C11 */
    return 1e-3 * (double)GetTickCount64();
#else
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
#endif
}

static int is_main_thread(void) {
    PyObject *name = PyUnicode_FromString("threading"), *threading = name ? PyImport_GetModule(name) : NULL;
    PyObject *thread = threading ? PyObject_CallMethod(threading, "main_thread", NULL) : NULL;
    PyObject *ident = thread ? PyObject_GetAttrString(thread, "ident") : NULL;
    int is = !ident || PyLong_AsUnsignedLong(ident) == PyThread_get_thread_ident();
    PyErr_Clear();
    Py_XDECREF(ident);
    Py_XDECREF(thread);
    Py_XDECREF(threading);
    Py_XDECREF(name);
    return is;
}

int listener_ask(void *context) {
    listener *ear = context;
    if (ear->byte && *ear->byte) return 1;
    if (ear->deaf) return 0;
    double now = seconds(), since = now - ear->asked;
    if (ear->asked == 0) since = 0, ear->asked = now;
    if (since >= 0 && since < ASKED_EVERY) return 0; /* a clock may be set back */
    ear->asked = now;
    PyEval_RestoreThread(ear->thread);
    ear->raised = PyErr_CheckSignals() < 0;
    ear->deaf = !ear->raised && !is_main_thread();
    ear->thread = PyEval_SaveThread();
    return ear->raised;
}

/* Parses numbers in text, such as the frames of a BVH file, with the same bits as Python's float().
 *
 * A word is [+-] digits [. digits] [e [+-] digits], a digit before or after the point, whatever the locale: a whole
 * number, of all its digits, and a power of ten. Up to 2^53 and 10^22 these are doubles exactly, and their product or
 * quotient is rounded once (W. D. Clinger, How to read floating point numbers accurately, 1990). Up to 19 digits are
 * divided by a power of ten in 128 bits. These cover files, and need no GIL; Python parses all others afterwards.
 */
#include "module.h"

#include "numpy_api.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* --- words ---------------------------------------------------------------------------------------------------------
 *
 * Text is that of a bytes object, with a zero after its end, at which all that follows stops. */

static int is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static int is_digit(char c) { return c >= '0' && c <= '9'; }

static npy_intp count_words(const char *at, const char *end) {
    npy_intp found = 0;
    for (int before = 1, space; at < end; at++, before = space) {
        space = is_space(*at);
        found += before & !space;
    }
    return found;
}

/* --- one number --------------------------------------------------------------------------------------------------- */

static const uint64_t EXACT_WHOLE = (uint64_t)1 << 53, ROOM = 1000000000000000000, TOO_LARGE = UINT64_MAX;
static const double POWERS[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
enum { EXACT_POWER = sizeof POWERS / sizeof *POWERS - 1, LARGEST_DIVISOR = 27 }; /* 5^27 < 2^64 */

/* whole / 10^power, of a whole number other than 0. */
static double divided(uint64_t whole, int64_t power) {
    unsigned __int128 five = 1;
    for (int64_t i = 0; i < power; i++)
        five *= 5;
    int shift = 64 + __builtin_clzll(whole);
    unsigned __int128 scaled = (unsigned __int128)whole << shift, quotient = scaled / five;
    quotient |= quotient * five != scaled; /* the last of its 64 or more bits says on which side of a tie it is */
    return (double)quotient / (double)((unsigned __int128)1 << shift) / (double)(1 << power);
}

/* Continues a whole number; returns the first character that is no digit. */
static const char *read_digits(const char *at, uint64_t *whole) {
    for (; is_digit(*at); at++)
        *whole = *whole < ROOM ? 10 * *whole + (uint64_t)(*at - '0') : TOO_LARGE;
    return at;
}

/* The exponent after the e; it stops growing beyond the length of any text. */
static const char *read_exponent(const char *at, int64_t *exponent) {
    int negative = *at == '-';
    int64_t size = 0;
    if (*at == '-' || *at == '+') at++;
    if (!is_digit(*at)) return NULL;
    for (; is_digit(*at); at++)
        if (size < INT64_MAX / 20) size = 10 * size + (*at - '0');
    *exponent = negative ? -size : size;
    return at;
}

/* The end of the word, NULL if it is no number. The value is NaN if Python has to parse it. */
static const char *read_number(const char *at, const char *end, double *value) {
    int negative = *at == '-';
    if (*at == '-' || *at == '+') at++;
    uint64_t whole = 0;
    int64_t power = 0;
    ptrdiff_t decimals = 0;
    const char *first = at;
    at = read_digits(at, &whole);
    ptrdiff_t digits = at - first;
    if (*at == '.') {
        first = at + 1;
        at = read_digits(first, &whole);
        decimals = at - first;
    }
    if (digits + decimals == 0) return NULL;
    if (*at == 'e' || *at == 'E') at = read_exponent(at + 1, &power);
    if (!at || (at < end && !is_space(*at))) return NULL;
    power -= decimals;
    double size = NAN;
    if (whole <= EXACT_WHOLE && power >= -EXACT_POWER && power <= EXACT_POWER)
        size = power < 0 ? (double)whole / POWERS[-power] : (double)whole * POWERS[power];
    else if (whole && whole < TOO_LARGE && power < 0 && power >= -LARGEST_DIVISOR)
        size = divided(whole, -power);
    *value = negative ? -size : size;
    return at;
}

/* --- all of them -------------------------------------------------------------------------------------------------- */

/* A number that Python must parse is, until then, a NaN that holds the position of its word. */
static const uint64_t LATER = (uint64_t)0xFFF << 51;

static double read_later(ptrdiff_t offset) {
    uint64_t bits = LATER | (uint64_t)offset;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static ptrdiff_t offset_of(double later) {
    uint64_t bits;
    memcpy(&bits, &later, sizeof bits);
    return (ptrdiff_t)(bits & ~LATER);
}

/* Reads words up to the end, or to the first that is no number, and returns that position. */
static const char *read_numbers(const char *text, const char *at, const char *end, double *values, npy_intp *count) {
    double *value = values;
    for (const char *next;; at = next, value++) {
        while (is_space(*at))
            at++;
        if (at == end || !(next = read_number(at, end, value))) break;
        if (isnan(*value)) *value = read_later(at - text);
    }
    *count = value - values;
    return at;
}

/* The offset of the first number that is too large, -1 if there is none, -2 with an exception set. */
static ptrdiff_t read_rest(const char *text, double *values, npy_intp count) {
    for (npy_intp i = 0; i < count; i++) {
        if (!isnan(values[i])) continue;
        ptrdiff_t offset = offset_of(values[i]);
        char *end;
        values[i] = PyOS_string_to_double(text + offset, &end, NULL);
        if (values[i] == -1.0 && PyErr_Occurred()) return -2;
        if (!isfinite(values[i])) return offset;
    }
    return -1;
}

static PyObject *parse_numbers(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *bytes;
    Py_ssize_t start, length;
    char *text;
    if (!PyArg_ParseTuple(args, "Sn", &bytes, &start)) return NULL;
    if (PyBytes_AsStringAndSize(bytes, &text, &length) < 0) return NULL;
    if (start < 0 || start > length)
        return PyErr_Format(PyExc_ValueError, "start: expected 0 to %zd, got %zd", length, start);
    const char *end = text + length, *stop;
    npy_intp words, numbers;
    Py_BEGIN_ALLOW_THREADS;
    words = count_words(text + start, end);
    Py_END_ALLOW_THREADS;
    PyArrayObject *array = (PyArrayObject *)PyArray_SimpleNew(1, &words, NPY_DOUBLE);
    if (!array) return NULL;
    Py_BEGIN_ALLOW_THREADS;
    stop = read_numbers(text, text + start, end, PyArray_DATA(array), &numbers);
    Py_END_ALLOW_THREADS;
    ptrdiff_t wrong = read_rest(text, PyArray_DATA(array), numbers);
    if (wrong == -1 && stop == end) return (PyObject *)array;
    Py_DECREF((PyObject *)array);
    return wrong == -2 ? NULL : PyLong_FromSsize_t(wrong >= 0 ? wrong : stop - text);
}

PyMethodDef numbers_functions[] = {
    {"parse_numbers", parse_numbers, METH_VARARGS,
     "parse_numbers(text, start, /)\n--\n\nThe numbers from byte `start` to the end, between white space; or "
     "where the first word begins that is none, or too large."},
    {NULL, NULL, 0, NULL},
};

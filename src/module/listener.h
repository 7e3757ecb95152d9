/* Ctrl-C while a kernel runs. */
#ifndef IKCORE_LISTENER_H
#define IKCORE_LISTENER_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* How a kernel hears that it should end: by a signal, which Python knows of once it is asked in its main thread; or by
 * a bytearray of which the first byte is set meanwhile. */
typedef struct {
    PyThreadState *thread;     /* that solves, without the GIL */
    const volatile char *byte; /* NULL: none */
    double asked;              /* when, in seconds; 0: not yet */
    int deaf;                  /* a thread that Python tells nothing */
    int raised;                /* what the signal has raised is set */
} listener;

/* The `stop` function of a job; its context is a listener. */
int listener_ask(void *context);

#endif

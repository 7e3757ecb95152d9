/* Ctrl-C while a kernel runs. */
#ifndef IKCORE_INTERRUPT_H
#define IKCORE_INTERRUPT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* The two ways to stop a kernel: a signal, which Python reports in its main thread when asked; or a bytearray whose
 * first byte is set. */
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

/*
 * candidate.h: what a search hands over: a kernel of the set, what it does to the return, and the numbers that
 * let somebody else prove that no kernel of the set does worse. A search proves nothing; src/adversary/check
 * does.
 */
#ifndef NADIR_PROOF_CANDIDATE_H
#define NADIR_PROOF_CANDIDATE_H

#include "model/kernel.h"

/* A struct of zeros holds nothing. */
typedef struct nadir_candidate {
    nadir_kernel *kernel;    /* owned: the worst found */
    double J;                /* its return, as the problem has signs */
    const char *method;      /* that found it */
    const char *stop_reason; /* "tolerance", "stable", "iterations", ... */
    bool converged;
    int64_t iterations;
    /* Kernels Phat - b k^T: b = c(s) times the shape of alpha pi within a state. */
    double *c;     /* [states] owned, |c|_p = beta; NULL: not of this kind */
    double *k;     /* [states] owned, zero-sum, |k|_p = 1 */
    double *g;     /* [states] owned: D W c up to a constant, a guess for iterations; NULL: not kept */
    double lambda; /* J_nominal - J by Sherman-Morrison */
    /* Kernels of domain simplex and support. */
    double *v;  /* [states] owned: value under the kernel; NULL: not of this kind */
    double *d;  /* [states] owned: occupancy under the kernel; NULL: not known */
    double tau; /* multiplier of the ball */
    double gap; /* stationarity gap: what a linear step would still promise */
} nadir_candidate;

void nadir_candidate_clear(nadir_context *context, nadir_candidate *candidate);

#endif

/*
 * dense_system.h: value and occupancy of kernels that may differ from the nominal one in every entry. I -
 * gamma P^pi is formed and factored for each of them.
 */
#ifndef NADIR_PAPER_DENSE_SYSTEM_H
#define NADIR_PAPER_DENSE_SYSTEM_H

#include "inside.h"

/* P <- P^pi of the nominal kernel: [states * states] row after row. NADIR_ERROR_UNSUPPORTED: too many
 * states for LAPACK's indices. */
nadir_status nadir_dense_nominal(nadir_context *context, const nadir_problem *problem, double *P);

/* v = (I - gamma P)^-1 R^pi and, unless d is NULL, d = (I - gamma P)^-T mu. P: [states * states], destroyed;
 * pivots: [states] work; v, d: [states]. threads: for LAPACK. Returns mu . v; NaN: singular. */
double nadir_dense_solve(const nadir_problem *problem, int threads, double *P, int *pivots, double *v,
                         double *d);

/* attack <- the kernel with these rows: [rows * states], and its J, v and d. Rows of scale 0 stay nominal,
 * whatever `rows` says. */
nadir_status nadir_dense_candidate(nadir_context *context, const nadir_problem *problem, const double *rows,
                                   nadir_candidate *candidate);

#endif

/* lagrangian_parts.h: what searches of the Lagrangian bound have in common. For this folder alone. */
#ifndef NADIR_ADVERSARY_LAGRANGIAN_PARTS_H
#define NADIR_ADVERSARY_LAGRANGIAN_PARTS_H

#include "adversary/search/kernel_solver.h"
#include "adversary/search/lagrangian_tau.h"
#include "adversary/sets/lmo_penalized.h"

/* What evaluations at several tau share. A struct of zeros holds nothing. */
typedef struct nadir_lagrangian_search {
    const nadir_problem *problem;
    double beta;
    nadir_lmo_penalized priced;
    nadir_kernel_solver systems; /* of the last kernel */
    double *norms;               /* [states] x_s^(1/p) of that kernel */
    double *charged;             /* [states] R^pi and the cost of that kernel */
    double *work;                /* [states] */
    bool roughly;                /* on large models: what is found is a bound all the same, if wider */
    int64_t evaluations, iterations;
} nadir_lagrangian_search;

/* priced.rows points into the struct: it must stay where it is. */
nadir_status nadir_lagrangian_search_make(nadir_context *context, const nadir_problem *problem, double beta,
                                          const double *d_bar, nadir_lagrangian_search *search);
void nadir_lagrangian_search_clear(nadir_context *context, nadir_lagrangian_search *search);

/* Whether as many kernels were evaluated as a large model may take; another tau then gets one more. */
bool nadir_lagrangian_search_is_spent(const nadir_lagrangian_search *search);

/* v_tau from lagrangian->v on, or from the nominal value. */
nadir_status nadir_lagrangian_search_run(nadir_context *context, nadir_lagrangian_search *search, double tau,
                                         nadir_lagrangian *lagrangian);

#endif

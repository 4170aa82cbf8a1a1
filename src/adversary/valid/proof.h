/*
 * proof.h: the proof that a kernel P* of the non-rectangular ball, simplex or support, is the worst of it.
 *
 * Nothing of the search is believed: everything is made anew from the kernel and tau. See proof.c for the
 * theorem, visits.h for bounds on occupancies, curvature.h for the quadratic form.
 */
#ifndef NADIR_ADVERSARY_PROOF_H
#define NADIR_ADVERSARY_PROOF_H

#include "adversary/attack.h"
#include "adversary/proof/occupancy_bounds.h"
#include "adversary/verdict.h"

/* Up to so many states columns of D are formed without being asked. */
#define NADIR_PROOF_STATES 500

typedef struct nadir_certificate {
    double lower;      /* J_U >= lower; -infinity: nothing proven */
    nadir_proof proof; /* rigorous, or numerical where kappa is an estimate by Lanczos */
    const char *bound; /* "second-order", "lagrangian" or "none" */
    double kappa;      /* at most 1/2 proves that P* is the worst; NaN: not made */
    double tau;        /* of the Lagrangian bound */
    bool hopeless;     /* norms show kappa to be far above 1/2 */
    double *d_bar;     /* [states] owned: what no kernel of the set visits more than */
    double *v_tau;     /* [states] owned: v of the Lagrangian bound; NULL: none */
} nadir_certificate;

void nadir_certificate_clear(nadir_context *context, nadir_certificate *proof);

/* A lower bound that was proven: taken if it is better than what there is. */
void nadir_certificate_offer(nadir_certificate *proof, double lower, nadir_proof how, const char *bound);

/* `wanted`: a lower bound this good is enough. effort: of the settings' certify; auto costs a fixed number of
 * solves in proportion to the search. */
nadir_status nadir_valid_prove(nadir_context *context, const nadir_problem *problem, double beta,
                               const nadir_attack *attack, nadir_certify effort, double wanted,
                               nadir_certificate *proof);

/* The same by norms alone (collective.h), which takes little time; p = 2, models of few states. Nothing is
 * proven, with kappa NaN, where they do not do. */
nadir_status nadir_valid_prove_by_norms(nadir_context *context, const nadir_problem *problem, double beta,
                                        const nadir_attack *attack, nadir_certificate *proof);

/* The same where occupancies of all kernels of the set have been bounded already. */
nadir_status nadir_valid_prove_within(nadir_context *context, const nadir_problem *problem, double beta,
                                      const nadir_attack *attack, nadir_certify effort, double wanted,
                                      const nadir_occupancy_bounds *known, nadir_certificate *proof);

#endif

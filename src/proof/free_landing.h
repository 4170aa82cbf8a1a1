/*
 * free_landing.h: bounds on the free domain where rewards on landing are not separable (docs/theory.md): rows
 * answer to costs of their own, c_sa = gamma (v + landing e_sa), and the worst kernel is not of rank one.
 *
 * A return is a difference of returns whose other policy has no initial distribution: the check of a kernel and the
 * second-order bound are those of difference_bound.h. With N_s(v) = |alpha_sa pi sigma_q(c_sa)|_q every kernel P of the
 * non-rectangular ball has
 *
 *     v_P - v = D (y o N(v_P)),    |y|_p <= beta,    N_s(v_P) <= N_s(v) + gamma W_s sigma_q(v_P - v).
 *
 * Bounds are for p = 2, closed ones also for p = 1, and for other p by an L_2 ball that contains the set. Everything
 * here is of one process.
 */
#ifndef NADIR_PROOF_FREE_LANDING_H
#define NADIR_PROOF_FREE_LANDING_H

#include "proof/certificate.h"
#include "proof/difference_bound.h"

/* The problem as a difference: signs as the model has them, the policy at place `own`, nothing at the other. For the
 * best case own is 1. */
typedef struct nadir_landing_pair {
    nadir_problem problem[2];
    int own;
    double *owned; /* [3 states] zeros, v, R */
} nadir_landing_pair;

nadir_status nadir_landing_pair_make(nadir_context *context, const nadir_problem *problem,
                                     nadir_landing_pair *pair);

/* What is proven around a kernel; signs as in the problem. */
typedef struct nadir_landing_answer {
    double lower, upper; /* of its return */
    double minimum;      /* its smallest entry */
    double bound,
        kappa; /* no kernel returns less than `bound`: non-rectangular ball, p = 2; else -infinity, NaN */
} nadir_landing_answer;

/* A kernel of the set (NADIR_ERROR_VERIFICATION otherwise) with its value v: [states], signs as in the model. tau:
 * multiplier for the second-order bound; 0: none is wanted. */
nadir_status nadir_landing_check(nadir_context *context, const nadir_problem *problem, nadir_certify certify,
                                 const nadir_kernel *kernel, const double *v, double tau,
                                 nadir_landing_answer *answer);

/*
 * Non-rectangular, below breakdown: the penalty of every kernel is at most
 *
 *     beta |d o N|_q + gamma beta^2 |W d|_q M(N) / (1 - gamma beta M(W)),    N = N(v) of the nominal v,
 *
 * M(n) = max over |y|_p <= 1 of sigma_q(D (n o y)): p = 2: |Phi D diag n|_2, p = 1: max_s n_s halfrange(D e_s).
 */
nadir_status nadir_landing_closed_bound(nadir_context *context, const nadir_problem *problem,
                                        nadir_certify certify, double *lower);

/*
 * For any g, e_sa may be taken to be less by g, and v to be more by landing g. Then N_s(v) <= gamma W_s |Phi v| +
 * eps_s, eps_s = |alpha pi Phi e_sa|. Kernels with |Phi v_P| >= t have the value of a kernel of rank one of the model
 * without e whose weights are W + eps / (gamma t), so that with root(W) the largest penalty there
 * (nadir_spectral_check)
 *
 *     penalty <= max(root(W + eps / (gamma t)), beta |d o (gamma t W + eps)|).
 *
 * The L_2 ball with this v and these weights, rounded up, for the g nearest to all e_sa; a struct of zeros holds
 * nothing; it must stay where it is.
 */
typedef struct nadir_landing_shaped {
    nadir_uncertainty set;
    nadir_problem problem;
    double beta;   /* of the L_2 ball */
    double other;  /* the second term */
    double *owned; /* [4 states] */
} nadir_landing_shaped;

nadir_status nadir_landing_shape(nadir_context *context, const nadir_problem *problem, double t,
                                 nadir_landing_shaped *made);
void nadir_landing_shaped_clear(nadir_context *context, nadir_landing_shaped *made);

/* c, k: [states] a pair for that problem. */
nadir_status nadir_landing_shaped_bound(nadir_context *context, const nadir_problem *problem, double t,
                                        const double *c, const double *k, nadir_certify certify,
                                        double *lower);

#endif

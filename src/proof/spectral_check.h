/*
 * spectral_check.h: an upper bound on the penalty of every kernel of an L_2 ball on the free domain, from one
 * pair (c, k); see spectral_check.c for the proof.
 */
#ifndef NADIR_PROOF_SPECTRAL_CHECK_H
#define NADIR_PROOF_SPECTRAL_CHECK_H

#include "proof/verified_solve.h"

/*
 * p = 2: an upper bound on the penalty of every kernel of the ball of radius beta, from the pair (c, k):
 * theta and the residual rho of (c / |c|, k) at lambda, isolation of theta by breakdown_low, which is proven
 * and above beta. *lambda_high: at worst gamma beta |Phi v| |W d| / (1 - beta / breakdown_low), which holds
 * for any pair; infinity when beta is not below breakdown_low. The pair need not lie in any ball:
 * other norms are bounded through an enclosing L_2 ball. The problem is one of p = 2.
 */
nadir_status nadir_spectral_check(nadir_context *context, const nadir_problem *problem, double beta,
                                  const double *c, const double *k, double breakdown_low,
                                  double *lambda_high);

/* One pair of many. */
typedef struct nadir_spectral_question {
    double beta;
    const double *c, *k; /* [states] each */
    const double *guess; /* [states] about D W c, perhaps up to a constant; NULL: none */
    /* [states] about D W c, and at least |W c - (I - gamma Phat^pi) product|, maximum norm; NULL: not known
     */
    const double *product;
    double product_off;
} nadir_spectral_question;

/* The same for `count` pairs, their systems solved together. lambda_high: [count]. */
nadir_status nadir_spectral_check_many(nadir_context *context, const nadir_problem *problem, int64_t count,
                                       const nadir_spectral_question *questions, double breakdown_low,
                                       double *lambda_high);

/* One pair without isolation from above: Cholesky tests of theta^2 (1 + eps) I - E^T E (D formed). */
nadir_status nadir_spectral_check_dense(nadir_context *context, const nadir_problem *problem, double beta,
                                        const double *c, const double *k, double breakdown_low,
                                        double *lambda_high);

/* ------------------------------------------------ what both checks share: spectral_check.c and _dense.c */

/* A pair at a radius, with what the operator E_lambda is made of. name_size: at least the 2-norm of what was
 * computed; name_off: at least how far that is from the exact one, vectors in the 2-norm. */
typedef struct nadir_spectral_pair {
    const nadir_problem *problem;
    nadir_verified_solver solver;
    double beta, breakdown_low;
    double margin; /* at most 1 - beta / breakdown_low; not positive: nothing can be proven */
    double W_smallest, W_largest;
    double W_off;    /* relative error of W */
    double Wd_size;  /* |W d|_2 with d as computed */
    double d_size;   /* |d|_1 */
    const double *v; /* [states] Phi v, one for all pairs */
    double v_size, v_off;
    bool usable;    /* c and k are not zero, and lambda is a number; otherwise the rest is not there */
    double *x;      /* [states] c / |c|, unit up to `unit_off` */
    double *y;      /* [states] Phi k / |Phi k|, likewise */
    double inverse; /* 1 / |c| */
    double unit_off;
    double *g; /* [states] Phi D W x */
    double g_size, g_off;
    double strength, strength_off; /* d . W x */
    double loss, loss_off;         /* y . Phi v */
    double lambda;                 /* the penalty of the pair, rounded: any number would do */
    double *h;                     /* [states] D^T y, once it is solved for */
    nadir_solve_error solve_error; /* of g before it was centred; later of h */
} nadir_spectral_pair;

/* Several pairs whose systems are solved together. A struct of zeros holds nothing. */
typedef struct nadir_spectral_pairs {
    int64_t count;
    nadir_spectral_pair *pairs;     /* [count] */
    nadir_solve_error *solve_error; /* [count] */
    double *v;                      /* [states] */
    double *x, *y, *g, *h;          /* [states * count] of one pair after another */
    double *work;                   /* [states * (count + 1)] */
} nadir_spectral_pairs;

nadir_status nadir_spectral_pairs_make(nadir_context *context, const nadir_problem *problem, int64_t count,
                                       const nadir_spectral_question *questions, double breakdown_low,
                                       nadir_spectral_pairs *made);
void nadir_spectral_pairs_clear(nadir_context *context, nadir_spectral_pairs *made);

/* What all pairs share, from v, W and d of the problem: problem, solver and breakdown_low are set. v:
 * [states] <- Phi v, which the pair keeps; Wd: [states] <- W d. */
void nadir_spectral_pair_begin(const nadir_context *context, nadir_spectral_pair *pair, double *v,
                               double *Wd);

/* At least |Phi D r|_2 for every r with |r|_max <= residual. */
double nadir_spectral_pair_image_norm(const nadir_spectral_pair *pair, double residual);

/* A bound on the penalty of every kernel of the ball from sigma >= sigma_max(E_lambda), infinity: none. */
double nadir_spectral_pair_bound(const nadir_spectral_pair *pair, double sigma);

#endif

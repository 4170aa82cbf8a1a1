/* check_spectral.h: what both checks of a pair (c, k) at p = 2 share; see check_spectral.c. */
#ifndef NADIR_ADVERSARY_CHECK_SPECTRAL_H
#define NADIR_ADVERSARY_CHECK_SPECTRAL_H

#include "adversary/proof/rank_one_check.h"
#include "adversary/proof/verified_solve.h"

/* A pair at a radius, with what the operator E_lambda is made of. name_size: at least the 2-norm of what was
 * computed; name_off: at least how far that is from the exact one, vectors in the 2-norm. */
typedef struct nadir_spectral_pair {
    const nadir_problem *problem;
    nadir_verified_solver known;
    double beta, breakdown_low;
    double rest; /* at most 1 - beta / breakdown_low; not positive: nothing can be proven */
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
    double *h;                     /* [states] D^T y, once it was asked for */
    nadir_solve_error enclosed;    /* of g before it was centred; later of h */
} nadir_spectral_pair;

/* Several pairs whose systems are solved together. A struct of zeros holds nothing. */
typedef struct nadir_spectral_pairs {
    int64_t count;
    nadir_spectral_pair *pairs;  /* [count] */
    nadir_solve_error *enclosed; /* [count] */
    double *v;                   /* [states] */
    double *x, *y, *g, *h;       /* [states * count] of one pair after another */
    double *work;                /* [states * (count + 1)] */
} nadir_spectral_pairs;

nadir_status nadir_spectral_pairs_make(nadir_context *context, const nadir_problem *problem, int64_t count,
                                       const nadir_spectral_question *asked, double breakdown_low,
                                       nadir_spectral_pairs *made);
void nadir_spectral_pairs_clear(nadir_context *context, nadir_spectral_pairs *made);

/* What all pairs share, from v, W and d of the problem: problem, known and breakdown_low are set. v: [states]
 * <- Phi v, which the pair keeps; Wd: [states] <- W d. */
void nadir_spectral_pair_begin(const nadir_context *context, nadir_spectral_pair *pair, double *v,
                               double *Wd);

/* At least |Phi D r|_2 for every r with |r|_max <= residual. */
double nadir_spectral_pair_spread(const nadir_spectral_pair *pair, double residual);

/* A bound on the penalty of every kernel of the ball from sigma >= sigma_max(E_lambda), infinity: none. */
double nadir_spectral_pair_bound(const nadir_spectral_pair *pair, double sigma);

#endif

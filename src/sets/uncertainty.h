/*
 * uncertainty.h: the set of kernels that the adversary may choose from, settled and checked.
 *
 *     non-rectangular   sum over all rows of (|P_sa - Phat_sa|_p / alpha_sa)^p <= beta^p
 *     s-rectangular     the same for the rows of each state, with beta_s
 *     sa-rectangular    |P_sa - Phat_sa|_p <= alpha_sa beta_sa for each row
 *
 * every row summing to one, and in the domain. alpha_sa = 0 pins a row. At p = infinity the first is the last
 * with one radius for all, and is solved as that. The domain box is support with bounds, l <= P <= u (model/box.h):
 * what holds on support holds there. The box alone, without a radius, is the last at p = infinity with radius 1.
 *
 * Weights of entries, p = 2: |.|_2 of a row is sqrt(sum (Delta / w)^2), 0 <= w <= 1 and the largest of a row 1, which
 * its scale has. A weight of 0 pins its entry. The ball without the weights holds that with them: bounds that do not
 * look at them hold. The chi^2 ball, sum Delta^2 / Phat <= beta^2, is the one whose alpha w is sqrt(Phat).
 */
#ifndef NADIR_SETS_UNCERTAINTY_H
#define NADIR_SETS_UNCERTAINTY_H

#include "model/model.h"
#include "model/policy.h"
#include "solve/occupancy.h"

/* The range of scales that are not 0, and the largest radius: powers of their products stay finite. */
#define NADIR_SCALE_LEAST 1e-50
#define NADIR_SCALE_MOST  1e50
#define NADIR_RADIUS_MOST 1e100

typedef struct nadir_uncertainty {
    nadir_set asked; /* as the user calls it */
    nadir_set set;   /* as it is solved: NADIR_SET_SA for the non-rectangular ball of p = infinity */
    nadir_domain asked_domain;
    nadir_domain domain;         /* NADIR_DOMAIN_SUPPORT for the box */
    const double *lower, *upper; /* those of the model; NULL: there is no box */
    double p, q;                 /* 1/p + 1/q = 1, both in [1, infinity] */
    double radius;               /* beta; with radii: the largest */
    const double *radii;         /* set s: [states], set sa: [rows]; NULL: `radius` for all */
    const double *scales;        /* [rows] alpha; NULL: all one */
    bool chi2;                   /* weights are those of the chi^2 ball */
    const double *asked_scales;  /* [rows] without the largest weight of each; NULL: all one */
    const double *weights;       /* w of the entries of the model, as they are stored; NULL: all one */
    const double *W;             /* [states] W_s = |alpha_s pi_s|_q: 0 where the adversary has no hold */
    int64_t entries; /* of rows that are not pinned: the n of U_p(beta) in U_2(beta n^(1/2 - 1/p)) */
    bool idle;       /* every radius, or every scale, is zero: the nominal kernel alone */
    double *owned;   /* [owned_count] W, radii, both scales and weights */
    int64_t owned_count;
} nadir_uncertainty;

/* What `ball` says, else the model, else the defaults (nonrect, p = 2, and box for models that have one, else simplex). NADIR_ERROR_ARGUMENT names
 * what is wrong: no radius but on domain box, one per state for another set, negative or infinite numbers. ball may be NULL. */
nadir_status nadir_uncertainty_make(nadir_context *context, const nadir_model *model,
                                    const nadir_policy *policy, const nadir_ball *ball,
                                    nadir_uncertainty *uncertainty);
/* A set of its own with the same numbers. */
nadir_status nadir_uncertainty_copy(nadir_context *context, const nadir_uncertainty *from,
                                    nadir_uncertainty *to);
void nadir_uncertainty_clear(nadir_context *context, nadir_uncertainty *uncertainty);

/* The same without the weights of the model: the scales of the ball are those of a set that has them. */
nadir_status nadir_uncertainty_make_unweighted(nadir_context *context, const nadir_model *model,
                                               const nadir_policy *policy, const nadir_ball *ball,
                                               nadir_uncertainty *uncertainty);

/* The norm as the user has it: p, or NADIR_NORM_CHI2. */
static inline double nadir_uncertainty_norm(const nadir_uncertainty *uncertainty)
{
    return uncertainty->chi2 ? NADIR_NORM_CHI2 : uncertainty->p;
}

/* The weight of an entry, counted as those of the model are stored. */
static inline double nadir_uncertainty_weight(const nadir_uncertainty *uncertainty, int64_t entry)
{
    return uncertainty->weights != NULL ? uncertainty->weights[entry] : 1;
}

/* The same ball on the free domain, which holds it. */
static inline void nadir_uncertainty_free(nadir_uncertainty *uncertainty)
{
    uncertainty->domain = NADIR_DOMAIN_FREE;
    uncertainty->lower = NULL;
    uncertainty->upper = NULL;
    uncertainty->weights = NULL;
}

static inline double nadir_uncertainty_scale(const nadir_uncertainty *uncertainty, int64_t row)
{
    return uncertainty->scales != NULL ? uncertainty->scales[row] : 1;
}

/* beta_s, beta_sa or beta of a row of a state. */
static inline double nadir_uncertainty_radius(const nadir_uncertainty *uncertainty, int64_t state,
                                              int64_t row)
{
    if (uncertainty->radii == NULL) {
        return uncertainty->radius;
    }
    return uncertainty->radii[uncertainty->set == NADIR_SET_S ? state : row];
}

/* ------------------------------------------------------------------------ problem of the adversary
 *
 * What the adversary knows: one policy on one model, its nominal solution, and the set.
 *
 * The adversary makes the return as small as it can. For the best case instead of the worst all rewards, and
 * with them values and returns, are negated here; whoever reports results turns them back.
 */

struct nadir_evaluation;

typedef struct nadir_problem {
    nadir_model *model;
    const nadir_kernel *kernel; /* nominal */
    const nadir_policy *policy;
    nadir_occupancy *occupancy; /* D of the nominal kernel */
    const nadir_uncertainty *uncertainty;
    int64_t states, rows;
    double gamma;
    double rest; /* 1 - gamma; without a discount 1 over about how long kernels last: for searches */
    /* Without a discount (proof/termination.h): */
    double gap;            /* at most 1 / mu . D_P 1 for all kernels of the set; 0: not known */
    double longest;        /* at least max D_P 1, likewise; infinity: not known */
    double *most;          /* [states] d_P of no kernel of the set is above it; NULL: not known */
    double sign;           /* 1, or -1 when rewards and values are negated */
    const double *rewards; /* [rows] R(s, a), shaped (model/landing.h), as all values and returns here */
    const double *R;       /* [states] R^pi of the nominal kernel */
    /* Rewards on landing that are not separable: sign / gamma, and 0 otherwise. A row answers to the costs
       gamma (v(t) + landing e(row, t)), where it would answer to gamma v(t). */
    double landing;
    const double *mu; /* [states] */
    const double *v;  /* [states] D R^pi */
    const double *d;  /* [states] D^T mu */
    double J;         /* mu . v */
    double v_error;   /* of v, maximum norm */
    double d_error;   /* of d, 1-norm */
    double J_error;
    double largest;  /* of |v| and the rewards, all states */
    double at_stake; /* d . |R^pi|, R as the model has it: states count as often as they are visited */
    /* Told of each of many radii when it is finished, factor times that of the set; NULL: nobody. */
    void (*finished)(void *user, double factor, const struct nadir_evaluation *evaluation);
    void *finished_user;
} nadir_problem;

#endif

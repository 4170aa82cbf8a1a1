/*
 * kkt.h: how a kernel P* stands in the set, as far as its own numbers tell: how stationary it is, and
 * what keeps its rows where they are. p = 2.
 *
 * With Delta = P* - Phat, delta = P - P* for any other P of the set, norms over 1 / alpha, v about the value
 * of P*, d about its occupancy, and g = gamma d(s) pi v + 2 tau Delta / alpha^2 for the rows of s,
 *
 *     J_P - mu . v = gamma sum over s of d_P(s) sum_a pi delta . v + d_P . residual
 *                 >= -error + tau |delta|^2 + sum rho_s slack . delta - 2 tau sum (rho_s - 1) <Delta_s,
 * delta_s>,
 *
 * rho_s = d_P(s) / d(s), slack = g - min g >= 0 where P* = 0, and `error` has what rows lack of optimality,
 * e_s = sum_a [g . P* - min g], times the most that rho_s can be, what the ball is not used up, and rounding.
 * v, d and tau may be any numbers: nothing of it needs them to be right.
 *
 * States that P* does not visit (d = 0) are nominal in P*: gamma d_P(s) sum_a pi delta . v >= -2 tau d_P(s)
 * w_s |delta_s| with w_s = gamma / (2 tau) k(s, -v) (sensitivity.h) takes the place of all of that for them.
 */
#ifndef NADIR_PROOF_KKT_H
#define NADIR_PROOF_KKT_H

#include "adversary/proof/expansion_point.h"
#include "adversary/proof/occupancy_bounds.h"
#include "adversary/proof/sensitivity.h"

/* A struct of zeros holds nothing. */
typedef struct nadir_kkt {
    const nadir_perturbable_rows *perturbable;
    nadir_expansion_point *point;
    double beta, tau; /* tau > 0 */
    double J;         /* mu . v */
    double error;     /* as above */
    double *change;   /* [entries] Delta / alpha; NULL if brief */
    double *slack;    /* [entries] at most g - min g where P* = 0, else 0; NULL if brief */
    bool *unvisited;  /* [states] */
    double *reply;    /* [states] w_s of unvisited states */
    bool bounded;     /* some entry is zero and has slack */
} nadir_kkt;

/* Norms, with weights 1 / inverse on the entries: what of Delta a delta can feel. A struct of zeros holds
 * nothing. */
typedef struct nadir_displacement {
    double *n;         /* [states] at least the norm of Delta_s over delta with sum 0 */
    double *w;         /* [states] n / d, or that of an unvisited state */
    double *direction; /* [entries] (Delta / alpha - c) inverse / n */
    bool norms_alone;  /* no directions are wanted: NULL */
} nadir_displacement;

/* unvisited: [states] states whose rows are nominal in the centre, which has its columns; copied. visits: of
 * all kernels of the set. */
nadir_status nadir_kkt_make(nadir_context *context, nadir_expansion_point *point,
                            nadir_sensitivity *sensitivity, const nadir_occupancy_bounds *bounds, double beta,
                            double tau, const bool *unvisited, nadir_kkt *kkt);
/* The same and its pull without directions, where nothing else is asked: no entries are kept, neither weights
 * nor other pulls can be had. */
nadir_status nadir_kkt_make_brief(nadir_context *context, nadir_expansion_point *point,
                                  nadir_sensitivity *sensitivity, const nadir_occupancy_bounds *bounds,
                                  double beta, double tau, const bool *unvisited, nadir_kkt *kkt,
                                  nadir_displacement *displacement);
void nadir_kkt_clear(nadir_context *context, nadir_kkt *kkt);

/*
 * 1 / omega, [entries], so that on kernels within the visits and |delta| <= radius
 *
 *     tau |delta|^2 + sum rho_s slack . delta >= tau sum omega (delta / alpha)^2:
 *
 * 0 <= delta <= u = min(1, Phat + alpha beta, alpha radius) where P* = 0, so delta >= delta^2 / u there.
 */
void nadir_kkt_weigh(const nadir_kkt *kkt, const nadir_occupancy_bounds *bounds, double radius,
                     double *inverse);

/* inverse: NULL for all one. Made anew in place. */
nadir_status nadir_displacement_make(nadir_context *context, const nadir_kkt *kkt, const double *inverse,
                                     nadir_displacement *displacement);
void nadir_displacement_clear(nadir_context *context, nadir_displacement *displacement);

/* At least |delta|, in the norm of the pull, of kernels within the visits that do better than mu . v - error
 * for the adversary: 2 |(most |rho_s - 1| n_s)_s|. */
double nadir_displacement_radius(const nadir_context *context, const nadir_kkt *kkt,
                                 const nadir_displacement *displacement,
                                 const nadir_occupancy_bounds *bounds);

#endif

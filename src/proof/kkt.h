/*
 * kkt.h: first-order optimality (KKT) of a candidate P* in the ball, p = 2: how far it is from stationary,
 * and the slack that keeps its zeros at zero.
 *
 * With Delta = P* - Phat, delta = P - P* for any other P of the set, norms over 1 / alpha, v about the value
 * of P*, d about its occupancy, and the gradient g = gamma d(s) pi c + 2 tau Delta / alpha^2 of the
 * Lagrangian for the rows of s, where c = v, or v + landing e in rows that pay on landing (model/landing.h),
 *
 *     J_P - mu . v = gamma sum over s of d_P(s) sum_a pi delta . c + d_P . residual
 *                 >= -error + tau |delta|^2 + sum rho_s slack . delta
 *                    - 2 tau sum (rho_s - 1) <Delta_s, delta_s>,
 *
 * rho_s = d_P(s) / d(s) and slack = g - min g >= 0 where P* = 0. `error` includes what rows lack of
 * optimality, e_s = sum_a [g . P* - min g] times the largest rho_s, the part of the ball that is not used,
 * and rounding. The inequality holds for any v, d and tau > 0: they need not be accurate.
 *
 * In a box, l <= P <= u, min g is the smallest g . X of its rows, e_s for any levels omega at most
 * sum (P* - l) (g - omega)_+ + (u - P*) (omega - g)_+, and slack is g - omega >= 0 where P* = l, omega - g >= 0 where
 * P* = u, times |delta|.
 *
 * Weights w of entries divide both Delta and delta in norms and products, so that g has 2 tau Delta / (alpha w)^2;
 * where w = 0 both are 0, and so is the slack.
 *
 * States that P* does not visit (d = 0) have nominal rows in P*. For them
 *
 *     gamma d_P(s) sum_a pi delta . c >= -2 tau d_P(s) w_s |delta_s|,    w_s = gamma / (2 tau) k(s, -c)
 *
 * (perturbable_rows.h) takes the place of all of that.
 */
#ifndef NADIR_PROOF_KKT_H
#define NADIR_PROOF_KKT_H

#include "proof/occupancy_bounds.h"
#include "proof/perturbable_rows.h"

/* Of a nadir_stationary_point. */
typedef struct nadir_kkt {
    const nadir_perturbable_rows *perturbable;
    nadir_expansion_point *point; /* P* */
    double beta, tau;             /* tau > 0 */
    double far;                   /* at least |Delta| and beta: P* may be a kernel that is not in the ball */
    double J;                     /* mu . v */
    double error;                 /* as above */
    double *
        slack; /* [entries] at most g - min g where P* = 0, else 0 (in a box: at either bound); NULL: the point has
                      no columns */
    const bool *unvisited; /* [states] */
    double *w_unvisited;   /* [states] w_s of unvisited states, else 0 */
} nadir_kkt;

/*
 * Weights 1 / omega, [entries], so that for kernels within the bounds on occupancies and |delta| <= radius
 *
 *     tau |delta|^2 + sum rho_s slack . delta >= tau sum omega (delta / alpha)^2, 1 / omega = w^2 at most:
 *
 * where P* = 0, or is at a bound of a box, |delta| <= u = min(1, |P* - Phat| + alpha beta, alpha radius, tau lift / (rho
 * slack)), so that |delta| >= delta^2 / u. lift: at least sum rho_s slack . delta / tau; infinity: not known.
 */
void nadir_kkt_weigh(const nadir_kkt *kkt, const nadir_occupancy_bounds *bounds, double radius, double lift,
                     double *inverse_weights);

/*
 * The displacement Delta = P* - Phat of a candidate, state by state, as other kernels feel
 * it.
 *
 * In J_P - J* it occurs in <Delta_s, delta_s> alone, delta_s with rows that sum to zero: only the
 * part of each row that is centred counts. With weights omega >= 1 on the entries, |delta|^2 = sum omega
 * (delta / alpha)^2, that is n_s |delta_s| at most with
 *
 *     n_s^2 = sum over rows and entries of (Delta / alpha / w^2 - c)^2 / omega, c = mean of the row for 1 / omega.
 */

/* A struct of zeros holds nothing. */
typedef struct nadir_displacement {
    double *n;         /* [states] at least n_s */
    double *w;         /* [states] at least n_s / d(s); of unvisited states kkt->w_unvisited */
    double *direction; /* [entries] (Delta / alpha - c) / omega / n_s; NULL: the point has no columns */
} nadir_displacement;

/* inverse_weights: [entries] 1 / omega; NULL for w^2. Computed anew in place. */
nadir_status nadir_displacement_make(nadir_context *context, const nadir_kkt *kkt,
                                     const double *inverse_weights, nadir_displacement *displacement);
void nadir_displacement_clear(nadir_context *context, nadir_displacement *displacement);

/* At least |delta|, in the norm with weights, of every kernel P within the bounds on occupancies that has J_P
 * < J* - error: 2 |(max |rho_s - 1| n_s)_s|, rho_s = d_P(s) / d(s). */
double nadir_displacement_radius(const nadir_context *context, const nadir_kkt *kkt,
                                 const nadir_displacement *displacement,
                                 const nadir_occupancy_bounds *bounds);

/*
 * A candidate P* with all that proofs by kappa start from: its expansion point, what its
 * rows can do, its KKT data and its displacement from the nominal kernel.
 */

/* Where the occupancy of P* comes from. */
typedef enum nadir_occupancy_source {
    NADIR_OCCUPANCY_NEAR,   /* v and d of the candidate, corrected with the factors of the nominal kernel */
    NADIR_OCCUPANCY_OWN,    /* solves with an operator of its own */
    NADIR_OCCUPANCY_COLUMNS /* all columns of D, of an operator of its own */
} nadir_occupancy_source;

/* A struct of zeros holds nothing. It must stay where it is. */
typedef struct nadir_stationary_point {
    nadir_expansion_point point;
    nadir_sensitivity sensitivity;
    nadir_kkt kkt;
    nadir_displacement displacement;
    bool *unvisited; /* [states] by P* */
} nadir_stationary_point;

/* The expansion point, with rows of unvisited states nominal, and its sensitivities. With NEAR the candidate
 * must outlive it. */
nadir_status nadir_stationary_point_make(nadir_context *context, const nadir_problem *problem,
                                         const nadir_perturbable_rows *perturbable,
                                         const nadir_candidate *candidate, nadir_occupancy_source source,
                                         nadir_stationary_point *self);
void nadir_stationary_point_clear(nadir_context *context, nadir_stationary_point *self);

/* KKT data and displacement for the multiplier tau > 0; again, in place. bounds: on the occupancies of all
 * kernels of the set. point: v and d to take, [2 states], whose errors are measured here; where there are none, those
 * of solves are taken and kept there. NULL: those of solves. Where d(s) is small `error` depends on the last digits of
 * both: who proves the bound again takes the same numbers. */
nadir_status nadir_stationary_point_kkt(nadir_context *context, const nadir_occupancy_bounds *bounds,
                                        double beta, double tau, double **point,
                                        nadir_stationary_point *self);

/* J* - error: no kernel of the set has a smaller return where kappa <= 1/2. */
double nadir_stationary_point_level(const nadir_stationary_point *self);

/* At least |delta| of every kernel of the ball, which is in it up to rounding: beta + far. */
double nadir_kkt_diameter(const nadir_kkt *kkt);

/* How far returns can be below the level, at most: 2 tau (kappa - 1/2) |delta|^2 with kappa > 1/2, |delta| <= size;
 * and whatever kappa is, tau radius^2 / 4, as tau |delta|^2 - tau radius |delta| is never less (nadir_displacement_radius). */
double nadir_kkt_loss_by_kappa(const nadir_kkt *kkt, double kappa, double size);
double nadir_kkt_loss_by_radius(const nadir_kkt *kkt, double radius);

#endif

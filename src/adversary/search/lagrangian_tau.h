/*
 * lagrangian_tau.h: the occupancy-weighted Lagrangian bound on the non-rectangular ball, simplex and support,
 * 1 <= p < infinity: with d_bar(s) >= d_P(s) for every P of the set and any tau >= 0,
 *
 *     J_U >= mu . v_tau - tau beta^p,    v_tau = T v_tau,
 *     (Tv)(s) = R^pi(s) + min over the rows of s with x_s <= beta^p of
 *                   gamma sum_a pi P_sa . v + tau / d_bar(s) x_s,    x_s = sum_a (|Delta_sa|_p / alpha_sa)^p.
 *
 * No state has more than the whole ball: without x_s <= beta^p the bound holds too, but on models with states
 * that are seldom visited it is much weaker. States of d_bar = 0 keep their nominal rows at no cost: no
 * kernel of the set enters them.
 */
#ifndef NADIR_SEARCH_LAGRANGIAN_TAU_H
#define NADIR_SEARCH_LAGRANGIAN_TAU_H

#include "adversary/search/kernel_solver.h"
#include "adversary/sets/lmo_penalized.h"
#include "kernel/kernel.h"

/* A struct of zeros holds nothing. */
typedef struct nadir_lagrangian {
    double tau;
    double value;         /* mu . v - tau beta^p, as computed: no bound */
    double used;          /* sum over s of d_tau(s) / d_bar(s) x_s: what it spends of beta^p */
    double *v;            /* [states] owned: v_tau */
    nadir_kernel *kernel; /* owned: the rows that attain it, as answers to the v before the last step */
    double *answered;     /* [states] owned: that v */
    double distance;      /* scaled p-norm of that kernel less the nominal one, which may leave the ball */
    int64_t evaluations;  /* of the call that filled this */
    int64_t iterations;   /* of policies, in all of them */
} nadir_lagrangian;

void nadir_lagrangian_clear(nadir_context *context, nadir_lagrangian *lagrangian);

/* v_tau for one tau >= 0, by policy iteration from the nominal value (or from lagrangian->v, if there). */
nadir_status nadir_lagrangian_solve(nadir_context *context, const nadir_problem *problem, double beta,
                                    const double *d_bar, double tau, nadir_lagrangian *lagrangian);

/* The best tau, from tau_start (0: unknown): `value` is concave in tau with slope used - beta^p. */
nadir_status nadir_lagrangian_tau_best(nadir_context *context, const nadir_problem *problem, double beta,
                                       const double *d_bar, double tau_start, int64_t evaluations_limit,
                                       nadir_lagrangian *lagrangian);

/* The tau at which kernels of a return below `level` are held closest to lagrangian->kernel (lagrangian_bound.h): about
 * where that kernel's own return is the level. tau_start > 0. */
nadir_status nadir_lagrangian_tau_for_level(nadir_context *context, const nadir_problem *problem, double beta,
                                            const double *d_bar, double level, double tau_start,
                                            int64_t evaluations_limit, nadir_lagrangian *lagrangian);

/* `kernel` moved towards the nominal one until it lies in the ball: a start for the descent that has answers
 * in states which the nominal kernel does not visit. */
nadir_status nadir_lagrangian_kernel_in_ball(nadir_context *context, const nadir_problem *problem,
                                             double beta, const nadir_lagrangian *lagrangian,
                                             nadir_kernel **start);

/* What evaluations at several tau share. A struct of zeros holds nothing. */
typedef struct nadir_lagrangian_search {
    const nadir_problem *problem;
    double beta;
    nadir_lmo_penalized priced;
    nadir_kernel_solver solver; /* of the last kernel */
    double *norms;              /* [states] x_s^(1/p) of that kernel */
    double *charged;            /* [states] R^pi and the cost of that kernel */
    double *work;               /* [states] */
    bool roughly;               /* on large models: what is found is a bound all the same, if wider */
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

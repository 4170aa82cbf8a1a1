/*
 * landing.h: rewards that are paid where one lands, r(s, a, s').
 *
 * Under a kernel P a row pays P_sa . r_sa. With any g, and e what is left of
 *
 *     r(s, a, s') = R(s, a) + g(s') + e(s, a, s'),
 *
 * y = v_P + g / gamma solves y = R' + P . e + gamma P y for every kernel P whose rows sum to one, where
 * R'(s, a) = R(s, a) + g(s) / gamma (docs/theory.md). So everything inside the library works with the shaped
 * rewards
 *
 *     model->shaped(s, a) = R'(s, a) + Phat_sa . e_sa,    R_P(s, a) = shaped(s, a) + (P - Phat)_sa . e_sa,
 *
 * and with shaped values y; whoever reports turns values and returns back (nadir_landing_value,
 * nadir_landing_return). Rewards that differ by little beside their size lose what they have in common, the offset:
 * it adds offset / (1 - gamma) to the return of every kernel whose rows sum to one, and nothing is rounded by it. e is
 * zero for successors that have no reward of their own, and, where r is separable,
 * everywhere: then rewards of rows are all there is, as for rewards that are given for each row.
 */
#ifndef NADIR_MODEL_LANDING_H
#define NADIR_MODEL_LANDING_H

#include "core/round.h"
#include "model/kernel.h"
#include "model/policy.h"

#include <math.h>
#include <string.h>

/* Finds R, g and e for the model's discount, initial distribution and way with unseen successors, and makes
 * model->shaped. Again whenever one of these changed. O(nonzeros), where r is separable. Without a discount
 * nothing is shaped. */
nadir_status nadir_landing_make(nadir_context *context, nadir_model *model, const char *path);
/* R and g alone, for NADIR_UNSEEN_ADDITIVE, until nadir_landing_clear. *tolerance: rewards that differ by less
 * from R + g are given back by it. */
nadir_status nadir_landing_extend(nadir_context *context, nadir_model *model, double *tolerance);
void nadir_landing_clear(nadir_memory *memory, nadir_model *model);
/* The same where no more than discount and initial distribution have changed. */
nadir_status nadir_landing_reshape(nadir_context *context, nadir_model *model, const char *path);

/* Whether e is not zero: kernels then pay differently. */
static inline bool nadir_landing_is_general(const nadir_model *model)
{
    return model->landing.general;
}

/* e of entry `entry` (an index into all stored transitions; dense: row * states + column) of a row. Only where
 * nadir_landing_is_general. NaN rewards are those that nobody gave. */
static inline double nadir_landing_e(const nadir_model *model, int64_t row, int64_t entry, int64_t column)
{
    const double r = model->transition_rewards[entry];
    return isnan(r) ? 0 : r - model->landing.base[row] - model->landing.g[column];
}

/* What a successor without a reward pays. */
static inline double nadir_landing_unseen(const nadir_model *model, int64_t row, int64_t column)
{
    return model->landing.base[row] + model->landing.g[column];
}

/* Where the stored transitions of a row start. */
static inline int64_t nadir_landing_entry(const nadir_model *model, int64_t row)
{
    return model->dense != NULL ? row * model->states : model->row_starts[row];
}

/* The discount of searches and proofs. Where e is not zero it is not less than this: costs of successors are
 * discount * (v + factor e). Below, gamma v is nothing beside the rewards. */
#define NADIR_LANDING_DISCOUNT_LEAST 0x1p-60

static inline double nadir_landing_discount(const nadir_model *model)
{
    return model->landing.general ? fmax(model->discount, NADIR_LANDING_DISCOUNT_LEAST) : model->discount;
}

/* 1 / gamma, or 0 where e is zero: `landing` of problems and oracles. */
static inline double nadir_landing_factor(const nadir_model *model)
{
    return model->landing.general ? 1 / nadir_landing_discount(model) : 0;
}

/* x <- x + factor e over all states; listed: over the nominal successors alone, one after the other. */
static inline void nadir_landing_add(const nadir_model *model, int64_t row, double factor, bool listed,
                                     double *x)
{
    const nadir_row entries = nadir_model_row(model, row);
    const int64_t start = nadir_landing_entry(model, row);
    int64_t next = 0;
    for (int64_t i = 0; i < entries.count; i++) {
        const int64_t t = nadir_row_column(&entries, i);
        if (!listed || entries.values[i] > 0) {
            x[listed ? next++ : t] += factor * nadir_landing_e(model, row, start + i, t);
        }
    }
}

/* x <- v + factor e over all states. v, x: [states] */
static inline void nadir_landing_costs(const nadir_model *model, int64_t row, double factor, const double *v,
                                       double *x)
{
    memmove(x, v, (size_t)model->states * sizeof *x); /* x may be v */
    nadir_landing_add(model, row, factor, false, x);
}

/* max |e|, rounded up; 0 where r is separable. */
static inline double nadir_landing_largest(const nadir_model *model)
{
    return fmax(-model->landing.e_low, model->landing.e_high);
}

/* (P - Phat) . e of a row of a kernel: what it pays more than the nominal row. Where the kernel is nominal, or
 * r separable, 0. A device must have given the numbers back. */
double nadir_kernel_landing(const nadir_kernel *kernel, int64_t row);

/* At least |R_P| of all rows of kernels of rows of |P|_1 <= largest (1 for distributions), over all processes;
 * and so much more that the rounding of nadir_kernel_landing is at most 4 NADIR_ROUND_UNIT times this. */
double nadir_landing_reward_size(const nadir_context *context, const nadir_model *model, double largest);

/* R_P(s, a) of a row. */
static inline double nadir_kernel_reward(const nadir_kernel *kernel, int64_t row)
{
    const nadir_model *model = nadir_kernel_model(kernel);
    return model->shaped[row] + (model->landing.general ? nadir_kernel_landing(kernel, row) : 0);
}

/* (P^pi - Phat^pi) . e times sign: [states]. Threaded. */
void nadir_kernel_landings(const nadir_context *context, const nadir_kernel *kernel,
                           const nadir_policy *policy, double sign, double *more);
/* R_P^pi times sign: [states]. Threaded. */
void nadir_kernel_rewards(const nadir_context *context, const nadir_kernel *kernel,
                          const nadir_policy *policy, double sign, double *R);

/* Without a discount: what the rounding of shaped rewards does to the return of a kernel that takes so many steps; part of
 * the slack otherwise. */
static inline double nadir_landing_drift(const nadir_model *model, double steps)
{
    return model->landing.each > 0 ? nadir_round_up(model->landing.each * steps, 4) : 0;
}

/* From shaped values and returns to those of the model, and back. lower, upper: rounding, and what the
 * decomposition left out, included. */
double nadir_landing_return(const nadir_model *model, double J);
double nadir_landing_lower(const nadir_model *model, double lower);
double nadir_landing_upper(const nadir_model *model, double upper);
double nadir_landing_shaped_return(const nadir_model *model, double J);
/* The largest |v + shift| of all states, as values of the model. v: [states], shaped. */
double nadir_landing_value_size(const nadir_context *context, const nadir_model *model, const double *v,
                                double shift);
/* v: [states], q: [rows] */
void nadir_landing_value(const nadir_model *model, double *v);
void nadir_landing_q(const nadir_model *model, double *q);

#endif

/*
 * lmo.h: the linear minimisation oracle over rows of the kernel, domains simplex and support.
 *
 * X_r is a distribution (on the nominal successors of row r, for `support`), Delta = X_r - Phat_r, w_r >= 0 a
 * weight and alpha_r the scale of the row; a row of alpha_r = 0 or w_r = 0 keeps its nominal numbers.
 *
 *     penalized   min w X . v + price (|Delta|_p / alpha)^p
 *     budget      min sum_r w_r X_r . v    with    sum_r (|Delta_r|_p / alpha_r)^p <= beta^p
 *
 * over one row (sa-rectangular, radius alpha beta), the rows of a state (s-rectangular), or all rows (the
 * linear step of the non-rectangular ball). p = infinity: |Delta_r|_inf <= alpha_r beta for each row. With x
 * of nadir_value_order, measured from the smallest that is allowed in the row, the solutions are, with one level
 * omega for each row (derived in lmo_l1_linf.c, lmo_l2.c and lmo_lp.c),
 *
 *     p = 1         all mass above omega, and a share of the mass at omega, goes to the smallest v
 *     1 < p < inf   X = max(0, Phat + alpha change(omega - x)) in every allowed successor, where
 *                   change(g) = sign(g) (step |g|)^(q-1)   for p <= 2, q = p / (p - 1),
 *                   change(g) = sign(g) step |g|^(q-1)     for p >= 2
 *     p = inf       alpha beta more on what comes before omega in the order, as much less on what comes after
 *
 * Rewards on landing, e(row, t), give every row an x of its own, (v - min v + landing e) / range. States that a
 * row does not list have e = 0, so that all rows still share one order of these.
 *
 * Weights of entries, p = 2: changes of an entry count 1 / w, and it moves by w^2 alpha step (omega - x) (lmo_box.c).
 *
 * On the domain box, l <= X <= u, changes are clipped on both sides, and what moves at p = 1 comes from the largest and
 * goes to the smallest v that have room (lmo_box.c).
 *
 * A solution is a few numbers for each row, whatever its length. nadir_lmo_kernel writes the rows out.
 */
#ifndef NADIR_SETS_LMO_H
#define NADIR_SETS_LMO_H

#include "core/device.h"
#include "linalg/distributed.h"
#include "model/kernel.h"
#include "sets/uncertainty.h"

#include <math.h>

/* ------------------------------------------------------------------------------- order of the states
 *
 * The states in rising order of a value, with sums along it.
 *
 * Linear problems over rows do not change when v is shifted or scaled, so they are solved for
 *
 *     x = (v - min v) / range in [0, 1],    range = max v - min v + spread (0: x = 0),
 *
 * which is safe for values of any size; spread is 0, or what rewards on landing add to the range. A sum over all states below a level omega, the first i + 1 in the
 * order, comes from first_i = sum over j <= i of (x_i - x_j) and second_i, the same with squares: nothing
 * cancels, however close together the values are.
 */
/* A struct of zeros holds nothing. */
typedef struct nadir_value_order {
    /* Of a model distributed over processes, set by the caller: the order then holds own states and their
     * ghosts, which is enough for domain support alone. NULL: all states are here. */
    const nadir_exchange *exchange;
    bool unsorted; /* set by the caller: only x is wanted */
    double spread; /* set by nadir_lmo_make: |landing| (max e - min e) */
    int64_t states;
    double lowest, range;            /* min v, max v - min v + spread */
    double *x;                       /* [states] of each state */
    int32_t *order;                  /* [states] rising in v, the lower state first among equals */
    int32_t *rank;                   /* [states] the place of a state in the order */
    double *sorted;                  /* [states] x along the order */
    double *first;                   /* [states] */
    double *second;                  /* [states] */
    double *first_low, *second_low;  /* [states] what both lack, where there is a spread; NULL: none */
    struct nadir_placed_state *list; /* [states] work space */
} nadir_value_order;

/* Over the states below a level. */
typedef struct nadir_value_order_sums {
    int64_t count; /* of states with x < omega */
    double first;  /* sum of omega - x over them */
    double second; /* sum of (omega - x)^2 */
} nadir_value_order_sums;

/* v: [own] finite; own: all states, or those of this process. Made anew in place, without allocation, when
 * the number of states is the same. NADIR_ERROR_ARGUMENT when a value is not finite, or when their range
 * overflows. */
nadir_status nadir_value_order_make(nadir_context *context, int64_t own, const double *v,
                                    nadir_value_order *order);
void nadir_value_order_clear(nadir_context *context, nadir_value_order *order);

/* O(log S). Sums are computed to a relative error of 8 roundings. */
nadir_value_order_sums nadir_value_order_below(const nadir_value_order *order, double omega);

/* ---------------------------------------------------------------------------------------- the oracle */

/* What all rows share. Plain data: set p with its conjugate q, and fill in the rest; nothing is owned. */
typedef struct nadir_lmo {
    nadir_model *model;
    const nadir_value_order *order; /* of v */
    const double *scales;           /* [rows] alpha; NULL: all one */
    nadir_domain domain;            /* NADIR_DOMAIN_SIMPLEX or NADIR_DOMAIN_SUPPORT */
    const double *lower, *upper;    /* bounds of the entries of the model; NULL: 0, and none */
    const double *weights;          /* of the entries of the model; NULL: all one */
    double p, q;
    double landing; /* rows answer to v(t) + landing e(row, t); 0: to v alone */
    /* Set by lmo_row_costs.h: every row has an x of its own. Only the range of the order is read then. */
    const struct nadir_lmo_row_costs *costs;
} nadir_lmo;

/* landing: as in nadir_problem. Not 0: the order gets its spread, and is to be made after this. */
static inline nadir_lmo nadir_lmo_make(nadir_model *model, nadir_value_order *order,
                                       const nadir_uncertainty *set, double landing)
{
    order->spread = landing != 0 ? fabs(landing) * (model->landing.e_high - model->landing.e_low) : 0;
    return (nadir_lmo){.model = model,
                       .order = order,
                       .scales = set->scales,
                       .domain = set->domain,
                       .lower = set->lower,
                       .upper = set->upper,
                       .weights = set->weights,
                       .p = set->p,
                       .q = set->q,
                       .landing = landing};
}

/* Whether the oracle wants more of the order than x: tails, ranks, or dense rows of p = 1. */
static inline bool nadir_lmo_sorts(const nadir_lmo *lmo)
{
    return lmo->domain == NADIR_DOMAIN_SIMPLEX ||
           (lmo->lower == NULL && (isinf(lmo->p) || (lmo->p == 1 && lmo->model->dense != NULL)));
}

/* The solution of one row. A struct of zeros: the row is nominal. */
typedef struct nadir_lmo_solution {
    double omega; /* level above the smallest allowed x of the row */
    double upper; /* p other than 1, 2 and infinity: where omega has too few digits, the solution is a mixture
                     of those at omega and at this. p = inf with rewards on landing: entries at omega that the
                     row lists rise by this part of what they can, or fall, where it is negative. In a box, p = inf or
                     step infinity: by how much entries at omega rise, as far as they can; p = 1: the level below which all rises, omega being that
                     above which all falls */
    double share; /* p = 1: of the entries at omega that moves; p = inf: the change of the entry at omega (of
                     the pivot, which the row does not list, with rewards on landing); else the share of
                     `upper` in the mixture */
    double step;  /* 1 < p < inf: see above; p = 1: entries by more than 2 / step above the smallest move;
                     p = inf: beta. 0: the row is nominal; infinity (p < inf): all mass at the smallest v */
    int32_t pivot; /* p = inf: the rank of omega in the order, which breaks ties */
    double gain;   /* Phat . v - X . v >= 0 */
    double norm;   /* |Delta|_p / alpha */
} nadir_lmo_solution;

/* Of rows that share a budget. */
typedef struct nadir_lmo_budget {
    double tau;  /* multiplier of sum (|Delta| / alpha)^p (p = inf: of max |Delta| / alpha); 0: the constraint
                    is inactive */
    double step; /* of a row of alpha w = 1; infinity where tau = 0 */
    double gain; /* sum of w_r gain_r */
    double norm; /* (sum (|Delta| / alpha)^p)^(1/p), at most beta */
} nadir_lmo_budget;

/* Doubles of working space that the functions below want for rows first .. end - 1 at a time. */
int64_t nadir_lmo_work_size(const nadir_lmo *lmo, int64_t first, int64_t end);

/* weight >= 0, price >= 0; 1 <= p < infinity. solution->omega and step of a similar problem are a warm start
 * (zeros: none). The minimum itself is weight (Phat . v - gain) + price norm^p. */
void nadir_lmo_solve_penalized(const nadir_lmo *lmo, int64_t row, double weight, double price, double *work,
                               nadir_lmo_solution *solution);

/* Rows first .. end - 1 share beta >= 0, on the calling thread. weights, solutions: [end - first]; solutions
 * of a similar problem are a warm start (zeros: none). */
void nadir_lmo_solve(const nadir_lmo *lmo, int64_t first, int64_t end, const double *weights, double beta,
                     double *work, nadir_lmo_solution *solutions, nadir_lmo_budget *budget);

/* All rows share beta, threaded. weights, solutions: [rows]. */
nadir_status nadir_lmo_solve_all(nadir_context *context, const nadir_lmo *lmo, const double *weights,
                                 double beta, nadir_lmo_solution *solutions, nadir_lmo_budget *budget);

/* w_sa = gamma max(d(s), 0) pi(a|s). Plain data, nothing is owned. */
typedef struct nadir_lmo_weights {
    double gamma;
    const double *d;  /* [states] */
    const double *pi; /* [rows] */
} nadir_lmo_weights;

static inline double nadir_lmo_weight(const nadir_lmo_weights *weights, int64_t state, int64_t row)
{
    const double d = weights->d[state];
    return weights->gamma * (d > 0 ? d : 0) * weights->pi[row];
}

/* each: [rows]. */
void nadir_lmo_weights_fill(const nadir_model *model, const nadir_lmo_weights *weights, double *each);

/*
 * Upper bounds on the gain, by weak duality: for every omega and every split x - omega = g1 + g2 with g2 >= 0
 *
 *     Phat . x - X . x <= Phat . g2 + |Delta|_p |g1|_q.
 *
 * omega and the split follow from omega and step of a solution, which may be any numbers: they decide how
 * tight the bound is, not whether it holds. Rounding is included, that of x too: all bounds hold for v
 * itself.
 */
typedef struct nadir_lmo_row_bound {
    double fixed; /* at least Phat . g2 range */
    double slope; /* at least |g1|_q range */
    /* x is v rounded: the smaller of `error` and error_slope |Delta|_p is added to fixed + slope |Delta|_p */
    double error, error_slope;
    double most; /* with weights of entries at least the gain of the row; else 0 */
} nadir_lmo_row_bound;

nadir_lmo_row_bound nadir_lmo_bound(const nadir_lmo *lmo, int64_t row, const nadir_lmo_solution *solution,
                                    double *work);

/* Gain of one row within |Delta|_p <= radius. */
double nadir_lmo_bound_radius(const nadir_lmo_row_bound *bound, double radius);
/* weight Phat . v less the minimum of the penalized problem. */
double nadir_lmo_bound_penalized(const nadir_lmo *lmo, int64_t row, double weight, double price,
                                 const nadir_lmo_row_bound *bound);
/* sum of w_r gain_r of rows that share beta: sum w_r fixed_r + beta (sum (w_r alpha_r slope_r)^q)^(1/q), less
 * price (0 for p = infinity) times the part of beta^p that is used. weights, bounds: [end - first]. */
double nadir_lmo_bound_shared(const nadir_lmo *lmo, int64_t first, int64_t end, const double *weights,
                              double beta, double price, const nadir_lmo_row_bound *bounds);

/* The omega at which a row of a box lacks about the least of optimality for costs g: g . X less the smallest is at most
 * the sum of (X - l) (g - omega)_+ + (u - X) (omega - g)_+ for any omega. */
double nadir_lmo_box_level(int64_t count, const double *g, const double *X, const double *lower,
                           const double *upper);

/* The kernel of all solutions, [rows]: in place where *kernel was made by this function and has the right
 * form, made anew otherwise (*kernel may be NULL). Threaded. Rows are explicit for p other than 1, 2 and
 * infinity on domain simplex where the model is sparse; else support values and an affine tail. */
nadir_status nadir_lmo_kernel(nadir_context *context, const nadir_lmo *lmo,
                              const nadir_lmo_solution *solutions, nadir_kernel **kernel);

/* A growing list of explicit rows. A struct of zeros holds nothing. */
typedef struct nadir_row_list {
    nadir_changed_rows made; /* points into what follows */
    int64_t *rows, *starts;
    int32_t *columns;
    double *values;
    size_t columns_capacity, values_capacity;
} nadir_row_list;

/* For up to `rows` rows; empty. made.count = 0 empties it again. */
nadir_status nadir_row_list_make(nadir_context *context, int64_t rows, nadir_row_list *list);
void nadir_row_list_clear(nadir_context *context, nadir_row_list *list);
/* columns: [count] rising. Rows come in rising order. */
nadir_status nadir_row_list_append(nadir_context *context, nadir_row_list *list, int64_t row, int64_t count,
                                   const int32_t *columns, const double *values);

/* The same row by row, for callers that keep no solutions: first *kernel ready to be filled, with its arrays,
 * then every row once, on any thread. Not where rows are explicit. */
nadir_status nadir_lmo_kernel_blank(nadir_context *context, const nadir_lmo *lmo, nadir_kernel **kernel,
                                    nadir_perturbed **perturbed);
void nadir_lmo_kernel_fill(const nadir_lmo *lmo, int64_t row, const nadir_lmo_solution *solution,
                           nadir_perturbed *perturbed);

/*
 * All rows at p = 2 on domain support of a sparse model, with nothing stored for a row: weights follow from
 * occupancies and the policy, and the solution of a row from the one step that all rows share.
 */

/* Solutions of all rows: in units of x, row r has the step kappa alpha w / unit. */
typedef struct nadir_lmo_streamed {
    double kappa;
    double unit; /* the largest alpha w */
} nadir_lmo_streamed;

/* Whether p, domain and model are of this kind. */
bool nadir_lmo_streamed_applies(const nadir_lmo *lmo);

/* All rows share beta, threaded. start: budget->step of a similar problem, or 0. *found: false where the
 * constraint is inactive, nothing moves, or beta^2 underflows: use nadir_lmo_solve_all. */
nadir_status nadir_lmo_streamed_solve(nadir_context *context, const nadir_lmo *lmo,
                                      const nadir_lmo_weights *weights, double beta, double start,
                                      nadir_lmo_streamed *streamed, nadir_lmo_budget *budget, bool *found);

/* The kernel of a solution that was found, with the same rows and weights; otherwise as nadir_lmo_kernel. */
nadir_status nadir_lmo_streamed_kernel(nadir_context *context, const nadir_lmo *lmo,
                                       const nadir_lmo_weights *weights, const nadir_lmo_streamed *streamed,
                                       nadir_kernel **kernel);

/* ------------------------------------------------------------------------------------ on a device
 *
 * The oracle on the device of an engine (core/device.h), for all rows of a
 * model that is large enough, where the device has an oracle of this kind: not with rewards on landing. Solutions stay on the device; the
 * budget and the kernel come back.
 */

/* step NULL: the device has no such oracle. */
typedef struct nadir_lmo_device {
    const struct nadir_device *device;
    void *step;
    nadir_model *model;
    double p;
    bool off_support; /* rows may reach other states than their nominal successors: sparse, domain simplex */
} nadir_lmo_device;

/* For weights gamma max(d(s), 0) pi(row); probabilities: [rows]. oracle->step stays NULL where the device
 * lacks memory, or does not solve such problems. */
nadir_status nadir_lmo_device_open(nadir_context *context, const nadir_lmo *lmo, nadir_device_budget shares,
                                   double gamma, const double *probabilities, nadir_lmo_device *oracle);
void nadir_lmo_device_close(nadir_lmo_device *oracle);

/* Only x of the order is read. d: [states], NULL: weights are one where pi is positive, and pi itself where
 * the rows of a state share. *found: false where the constraint is inactive or nothing moves: use
 * nadir_lmo_solve_all. Where not all rows share it is false only if nothing moves, and the budget is
 * undefined. */
nadir_status nadir_lmo_device_solve(nadir_context *context, const nadir_lmo_device *oracle,
                                    const nadir_value_order *order, const double *d, double beta,
                                    nadir_lmo_budget *budget, bool *found);

/* p = infinity, or where not all rows share: gains(s) <- sum over a of pi(a|s) (Phat_sa - X_sa) . v of the
 * last solution; [states]. */
nadir_status nadir_lmo_device_gains(nadir_context *context, const nadir_lmo_device *oracle,
                                    const nadir_value_order *order, double *gains);

/* The kernel of the last solution, as nadir_lmo_kernel makes it, but on the device, where it is averaged;
 * nadir_kernel_device_fetch copies it to the host. */
nadir_status nadir_lmo_device_kernel(nadir_context *context, const nadir_lmo_device *oracle,
                                     nadir_kernel **kernel);

/* p = 2: sum over rows of P . g - min g, g = w v + 2 tau Delta / alpha^2, at the last solution's weights.
 * *done: false where the kernel P is not on the device. */
nadir_status nadir_lmo_device_slack(nadir_context *context, const nadir_lmo_device *oracle,
                                    const nadir_kernel *kernel, double range, double tau, double *slack,
                                    bool *done);

/* Sparse models, domain support: sums <- sum over rows of (gamma y(s) alpha pi)^2 (z centred in the row);
 * [states] each. */
nadir_status nadir_lmo_device_centred(nadir_context *context, const nadir_lmo_device *oracle, const double *y,
                                      const double *z, double *sums);

#endif

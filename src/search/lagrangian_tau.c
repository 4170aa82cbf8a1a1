/*
 * lagrangian_tau.c: the tau of the best Lagrangian bound; see lagrangian_tau.h.
 *
 * The bound is concave in tau: at every tau tried it lies below its tangent, of slope used - beta^p, and
 * below J - tau beta^p of the nominal kernel. The crossing of the two tangents next to the best tau bounds
 * what can still be gained. Changes of interior rows are proportional to tau^(1-q), and `used` to tau^-q: the
 * first step is tau (used / beta^p)^(1/q), later ones take the exponent from the last two points on either
 * side. Where that gains little, the crossing itself is tried: for p = 1, where the bound is piecewise
 * linear, this ends exactly.
 */
#include "search/lagrangian_search.h"

#include "linalg/norm.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* The search ends when the bound cannot rise by more than this share of the penalty. */
#define SHARE         1e-4
#define SHARE_ROUGHLY 1e-2

/* The line value + slope (t - tau), above the bound at every t. */
typedef struct tangent {
    double tau, value, slope;
} tangent;

typedef struct bracket {
    double room; /* beta^p */
    bool rises;  /* left is known */
    bool falls;  /* right is of a tau that was tried */
    tangent left, right;
} bracket;

static double line_at(const tangent *line, double tau)
{
    return line->value + line->slope * (tau - line->tau);
}

/* Where the tangents cross: the bound is largest between them. */
static double crossing(const bracket *between)
{
    const double fall = between->left.slope - between->right.slope;
    if (!between->rises || !(fall > 0)) {
        return 0;
    }
    const double tau =
        between->left.tau + (line_at(&between->right, between->left.tau) - between->left.value) / fall;
    return fmax(tau, 0);
}

/* tau at which `used` is beta^p, if it is a power of tau. */
static double power_step(const bracket *between, double q)
{
    const tangent *left = &between->left;
    const tangent *right = &between->right;
    const double more = left->slope + between->room;
    const double less = right->slope + between->room;
    if (left->tau > 0 && between->falls && less > 0) {
        const double exponent = log(more / less) / log(right->tau / left->tau);
        return left->tau * pow(more / between->room, 1 / exponent);
    }
    return left->tau > 0 ? left->tau * pow(more / between->room, 1 / q)
                         : right->tau * pow(less / between->room, 1 / q);
}

static bool is_inside(const bracket *between, double tau)
{
    return (!between->rises ? tau > 0 : tau > between->left.tau) &&
           (!between->falls || tau < between->right.tau) && tau <= DBL_MAX;
}

/* The tau to try next; negative: there is nothing left to try. */
static double choose(const bracket *between, double q, bool slow)
{
    const double tau = power_step(between, q);
    if (!slow && is_inside(between, tau)) {
        return tau;
    }
    const double middle = crossing(between);
    return is_inside(between, middle) || (!between->rises && middle == 0) ? middle : -1;
}

static void narrow(bracket *between, const nadir_lagrangian *tried)
{
    const tangent line = {tried->tau, tried->value, tried->used - between->room};
    if (line.slope >= 0) {
        between->left = line;
        between->rises = true;
    } else {
        between->right = line;
        between->falls = true;
    }
}

/* The same row by row. */
static nadir_status share_each(nadir_context *context, const nadir_lagrangian_search *search,
                               const nadir_lmo_weights *weights, nadir_lmo_budget *budget)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = search->problem->model;
    const nadir_lmo *rows = &search->lmo.rows;
    double *each = NULL;
    nadir_lmo_solution *answers = NULL;
    NADIR_NEW(context, each, model->rows);
    NADIR_NEW_ZERO(context, answers, model->rows);
    for (int64_t s = 0; s < model->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            each[row] = nadir_lmo_weight(weights, s, row);
        }
    }
    NADIR_CHECK(nadir_lmo_solve_all(context, rows, each, search->beta, answers, budget));
cleanup:
    nadir_release(context, each);
    nadir_release(context, answers);
    return status;
}

/* The multiplier of the ball in the linear problem at the nominal kernel. */
static nadir_status guess(nadir_context *context, nadir_lagrangian_search *search, double *tau)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = search->problem;
    const nadir_lmo_weights weights = {problem->gamma, problem->d, problem->policy->probabilities};
    nadir_lmo_penalized *lmo = &search->lmo;
    nadir_lmo_budget budget = {0};
    nadir_lmo_streamed step;
    bool found = false;
    NADIR_CHECK(nadir_value_order_make(context, problem->states, problem->v, &lmo->order));
    if (nadir_lmo_streamed_applies(&lmo->rows)) {
        NADIR_CHECK(
            nadir_lmo_streamed_solve(context, &lmo->rows, &weights, search->beta, 0, &step, &budget, &found));
    }
    if (!found) {
        NADIR_CHECK(share_each(context, search, &weights, &budget));
    }
    *tau = fmin(budget.tau, DBL_MAX); /* beta^p underflows for large p */
cleanup:
    return status;
}

/* Keeps the better one in *best; the next evaluation overwrites the other, from the v of the best. */
static void keep_better(int64_t states, nadir_lagrangian *best, nadir_lagrangian *trial)
{
    if (trial->value > best->value || best->v == NULL) {
        const nadir_lagrangian swap = *best;
        *best = *trial;
        *trial = swap;
    }
    if (trial->v != NULL) {
        memcpy(trial->v, best->v, (size_t)states * sizeof *trial->v);
    }
}

static nadir_status climb(nadir_context *context, nadir_lagrangian_search *search, double tau,
                          int64_t evaluations_limit, nadir_lagrangian *best, nadir_lagrangian *trial)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = search->problem;
    const double room = nadir_power(search->beta, problem->uncertainty->p);
    bracket between = {.room = room, .right = {0, problem->J, -room}};
    const double share = search->roughly ? SHARE_ROUGHLY : SHARE;
    double before = INFINITY;
    while (tau >= 0 && (search->evaluations < evaluations_limit || search->evaluations == 0)) {
        NADIR_CHECK(nadir_lagrangian_search_run(context, search, tau, trial));
        narrow(&between, trial);
        keep_better(problem->states, best, trial);
        const double still = line_at(&between.right, crossing(&between)) - best->value;
        if (still <= share * (problem->J - best->value) || !isfinite(still) || (tau == 0 && !between.rises) ||
            nadir_lagrangian_search_is_spent(search)) {
            break;
        }
        tau = choose(&between, problem->uncertainty->q, still > before / 4);
        before = still;
    }
    best->evaluations = search->evaluations;
    best->iterations = search->iterations;
cleanup:
    return status;
}

nadir_status nadir_lagrangian_tau_best(nadir_context *context, const nadir_problem *problem, double beta,
                                       const double *d_bar, double tau_start, int64_t evaluations_limit,
                                       nadir_lagrangian *lagrangian)
{
    nadir_status status = NADIR_OK;
    nadir_lagrangian_search search = {0};
    nadir_lagrangian best = {0};
    nadir_lagrangian trial = *lagrangian;
    double tau = tau_start;
    *lagrangian = (nadir_lagrangian){0};
    NADIR_CHECK(nadir_lagrangian_search_make(context, problem, beta, d_bar, &search));
    if (!(tau > 0)) {
        NADIR_CHECK(guess(context, &search, &tau));
    }
    NADIR_CHECK(climb(context, &search, tau, evaluations_limit, &best, &trial));
    *lagrangian = best;
    best = (nadir_lagrangian){0};
cleanup:
    nadir_lagrangian_clear(context, &best);
    nadir_lagrangian_clear(context, &trial);
    nadir_lagrangian_search_clear(context, &search);
    return status;
}

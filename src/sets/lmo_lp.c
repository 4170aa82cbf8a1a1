/*
 * lmo_lp.c: the linear minimisation oracle of 1 < p < infinity, p != 2; see lmo.h.
 *
 * With a = 1 / (p - 1) and d = x - omega, Delta / alpha is change(-d) below omega, and above it -change(d),
 * at most Phat / alpha in size. What rises and what falls, plus(omega) and minus(omega), must be equal:
 * Newton's method within a bracket, on plus^(1/a) - minus^(1/a) for p < 2, which is nearly a line however
 * large a is, and on plus - minus itself for p > 2. Where the digits of omega do not suffice (vertical
 * tangents for p > 2, high powers for p < 2) the solutions at both ends of the last bracket are mixed so that
 * the mass is right; the norm is convex, so that the mixture lies within the ball.
 *
 * The common kappa: a row's step is kappa u (p < 2) or kappa u^a (p > 2), u = alpha w / unit. t = log kappa,
 * times a for p < 2, has log norm(t) of slope at most 1, concave where entries are clipped: found by false
 * position, and taken from the side inside the ball.
 */
#include "sets/lmo_internal.h"
#include "sets/lmo_lp_formulas.h"

#include <math.h>

static void add_below(double p, double step, int64_t count, const double *x, double omega,
                      nadir_lp_sums *sums)
{
    for (int64_t i = 0; i < count; i++) {
        const double g = omega - x[i];
        if (g > 0) {
            nadir_lp_add_below(p, step, g, sums);
        }
    }
}

/* Rewards on landing: the states below omega that the row does not list. */
static void add_others(const nadir_lmo *lmo, const nadir_lmo_row_view *view, double step, double omega,
                       nadir_lp_sums *sums)
{
    const int64_t below = nadir_value_order_count(lmo->order, view->base, omega);
    for (int64_t i = 0; i < below; i++) {
        if (!nadir_lmo_lists(view->count, view->columns, lmo->order->order[i])) {
            nadir_lp_add_below(lmo->p, step, omega - (lmo->order->sorted[i] - view->base), sums);
        }
    }
}

static nadir_lp_sums sum_at(const nadir_lmo *lmo, const nadir_lmo_row_view *view, double step, double omega)
{
    nadir_lp_sums sums = {0};
    if (view->plain != NULL) {
        add_others(lmo, view, step, omega, &sums);
    }
    if (view->off_support && view->plain == NULL) {
        const int64_t below = nadir_value_order_below(lmo->order, omega).count;
        add_below(lmo->p, step, below, lmo->order->sorted, omega, &sums);
    } else {
        add_below(lmo->p, step, view->count, view->x, omega, &sums);
    }
    for (int64_t i = 0; i < view->count; i++) {
        const double g = view->x[i] - omega;
        if (g > 0) {
            nadir_lp_add_above(lmo->p, step, g, view->phat[i] / view->alpha, &sums);
        }
    }
    return sums;
}

/* omega, upper and share for the solution's step. True: omega is enough, and `found` holds the sums there. */
static bool find_level(const nadir_lmo *lmo, const nadir_lmo_row_view *view, double highest,
                       nadir_lmo_solution *solution, nadir_lp_sums *found)
{
    nadir_lp_levels bracket = {0, highest, -INFINITY, INFINITY, INFINITY};
    double omega = solution->omega > 0 && solution->omega < highest ? solution->omega : highest / 2;
    for (int i = 0; i < NADIR_LP_LEVEL_LIMIT; i++) {
        const nadir_lp_sums sums = sum_at(lmo, view, solution->step, omega);
        const double excess = sums.plus - sums.minus;
        if (isfinite(excess) && fabs(excess) <= NADIR_LP_MASS_ROUNDING * sums.plus) {
            solution->omega = omega;
            solution->upper = omega;
            *found = sums;
            return true;
        }
        if (!nadir_lp_next_level(lmo->p, i, &sums, &bracket, &omega)) {
            break;
        }
    }
    /* an end that was never tried */
    if (isinf(bracket.low_excess)) {
        const nadir_lp_sums sums = sum_at(lmo, view, solution->step, bracket.low);
        bracket.low_excess = sums.plus - sums.minus;
    }
    if (isinf(bracket.high_excess)) {
        const nadir_lp_sums sums = sum_at(lmo, view, solution->step, bracket.high);
        bracket.high_excess = sums.plus - sums.minus;
    }
    if (isinf(bracket.high_excess)) { /* the step is so large that sums overflow */
        nadir_lmo_solution_concentrate(lmo, view, solution);
        return false;
    }
    solution->omega = bracket.low;
    solution->upper = bracket.high;
    solution->share =
        bracket.low_excess < 0 ? bracket.low_excess / (bracket.low_excess - bracket.high_excess) : 0;
    return false;
}

double nadir_lmo_lp_displacement(double p, const nadir_lmo_solution *solution, double alpha, double phat,
                                 double x)
{
    const double most = phat / alpha;
    const double low = nadir_lp_delta(p, solution->step, most, solution->omega - x);
    if (!(solution->share > 0)) {
        return low;
    }
    const double high = nadir_lp_delta(p, solution->step, most, solution->upper - x);
    return (1 - solution->share) * low + solution->share * high;
}

/* Over every Delta / alpha of the row that is not zero: the sum of (|Delta| / (largest alpha))^p, or the
 * largest |Delta| / alpha where `largest` is 0; gain in units of alpha. */
static double measure(const nadir_lmo *lmo, const nadir_lmo_row_view *view,
                      const nadir_lmo_solution *solution, double largest, double *gain)
{
    const double p = lmo->p;
    double result = 0;
    *gain = 0;
    const bool counted = view->off_support && view->plain == NULL; /* own entries, along the order */
    const int64_t below =
        view->off_support ? nadir_value_order_count(lmo->order, view->base, solution->upper) : 0;
    for (int64_t i = 0; i < below; i++) {
        const double x = lmo->order->sorted[i] - view->base;
        if (!counted && nadir_lmo_lists(view->count, view->columns, lmo->order->order[i])) {
            continue;
        }
        const double delta = nadir_lmo_lp_displacement(p, solution, view->alpha, 0, x);
        *gain += delta * (solution->omega - x);
        result = largest > 0 ? result + nadir_power(delta / largest, p) : fmax(result, delta);
    }
    for (int64_t i = 0; i < view->count; i++) {
        const double x = view->x[i];
        if (counted && x < solution->omega) {
            continue; /* counted above */
        }
        const double delta = nadir_lmo_lp_displacement(p, solution, view->alpha, view->phat[i], x);
        const double before = counted && x < solution->upper
                                  ? nadir_lmo_lp_displacement(p, solution, view->alpha, 0, x)
                                  : 0; /* in the loop above */
        *gain += (delta - before) * (solution->omega - x);
        result = largest > 0
                     ? result + nadir_power(fabs(delta) / largest, p) - nadir_power(before / largest, p)
                     : fmax(result, fabs(delta));
    }
    return result;
}

/* gain and norm at omega alone. Of an entry that is not clipped (|Delta| / L)^p = (|Delta| / L) (g / g_L),
 * where change(g_L) = L, L being the largest |Delta| / alpha. */
static void measure_level(const nadir_lmo *lmo, const nadir_lmo_row_view *view, const nadir_lp_sums *sums,
                          nadir_lmo_solution *solution)
{
    const double p = lmo->p;
    const double largest = sums->largest;
    const double g = p < 2 ? pow(largest, p - 1) / solution->step : pow(largest / solution->step, p - 1);
    double sum = sums->unclipped > 0 ? sums->unclipped / largest / g : 0;
    for (int64_t i = 0; i < view->count && sums->clipped > 0; i++) {
        const double most = view->phat[i] / view->alpha;
        const double d = view->x[i] - solution->omega;
        if (d > 0 && most > 0 && most <= nadir_lp_change(p, solution->step, d)) {
            sum += pow(most / largest, p);
        }
    }
    solution->norm = largest * pow(sum, 1 / p);
    solution->gain = view->alpha * (sums->unclipped + sums->clipped);
}

void nadir_lmo_lp_row(const nadir_lmo *lmo, const nadir_lmo_row_view *view, nadir_lmo_solution *solution)
{
    if (view->low != NULL) {
        nadir_lmo_box_row(lmo, view, solution);
        return;
    }
    double highest = 0;
    for (int64_t i = 0; i < view->count; i++) {
        highest = view->phat[i] > 0 && view->x[i] > highest ? view->x[i] : highest;
    }
    solution->share = 0;
    solution->gain = 0;
    solution->norm = 0;
    if (!(highest > 0)) {
        solution->omega = 0;
        solution->upper = 0;
        return;
    }
    nadir_lp_sums sums;
    if (find_level(lmo, view, highest, solution, &sums)) {
        if (sums.largest > 0) {
            measure_level(lmo, view, &sums, solution);
        }
    } else if (isfinite(solution->step)) {
        double gain;
        const double largest = measure(lmo, view, solution, 0, &gain);
        const double sum = measure(lmo, view, solution, largest, &gain);
        solution->norm = largest * nadir_power(sum, 1 / lmo->p);
        solution->gain = view->alpha * fmax(0, gain);
    }
}

static void solve_at_kappa(const nadir_lmo_group *group, int64_t row, double *work, void *data)
{
    const double *kappa = data;
    const double p = group->lmo->p;
    const double u = nadir_lmo_group_weight(group, row);
    const nadir_lmo_row_view view = nadir_lmo_row_view_make(group->lmo, row, work);
    nadir_lmo_solution *solution = &group->solutions[row - group->first];
    solution->step = *kappa * (p < 2 ? u : nadir_power(u, 1 / (p - 1)));
    nadir_lmo_lp_row(group->lmo, &view, solution);
}

/* log(norm / beta) at t. */
static double excess_at(const nadir_lmo_group *group, double base, double t)
{
    double kappa = nadir_lp_kappa(group->lmo->p, base, t);
    nadir_lmo_group_run(group, solve_at_kappa, &kappa);
    return log(nadir_lmo_group_norm(group) / group->beta);
}

/* The kappa of norm = beta, from below; solutions are those of it. False when the norm does not get there. */
static bool find_step(const nadir_lmo_group *group, double base, double *kappa)
{
    const double a = fmax(1, 1 / (group->lmo->p - 1));
    const double tolerance = nadir_round_error(8) * a;
    nadir_lp_bracket bracket = {.low = -INFINITY, .high = INFINITY, .width = INFINITY};
    double t = 0;
    for (int i = 0; i < NADIR_LP_STEP_LIMIT; i++) {
        const double excess = excess_at(group, base, t);
        nadir_lp_narrow(&bracket, t, excess);
        if (excess <= 0 && excess >= -tolerance) {
            break;
        }
        if (bracket.high - bracket.low <= tolerance + nadir_round_error(4) * fabs(t)) {
            break;
        }
        if (isinf(bracket.high) && i == NADIR_LP_BRACKET_LIMIT) {
            return false;
        }
        t = nadir_lp_next_t(&bracket, i, tolerance, NADIR_LP_FAR * a);
    }
    /* Where digits do not suffice the same t may give another norm from another start. Nothing moves at
     * kappa = 0. */
    if (t != bracket.low && excess_at(group, base, bracket.low) > tolerance) {
        bracket.low = -INFINITY;
        excess_at(group, base, bracket.low);
    }
    *kappa = nadir_lp_kappa(group->lmo->p, base, bracket.low);
    return true;
}

static nadir_lmo_common common_of(double p, double kappa)
{
    return (nadir_lmo_common){kappa, 1 / (p * (p < 2 ? kappa : pow(kappa, p - 1)))};
}

nadir_lmo_common nadir_lmo_lp(const nadir_lmo_group *group, double start)
{
    const double p = group->lmo->p;
    double kappa;
    if (start > 0 && find_step(group, start, &kappa)) {
        return common_of(p, kappa);
    }
    nadir_lmo_group_concentrate(group);
    if (nadir_lmo_group_norm(group) <= group->beta) {
        return (nadir_lmo_common){INFINITY, 0};
    }
    if (find_step(group, p < 2 ? 2 * pow(group->beta, p - 1) : group->beta, &kappa)) {
        return common_of(p, kappa);
    }
    nadir_lmo_group_concentrate(group);
    return (nadir_lmo_common){INFINITY, 0};
}

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
#include "adversary/rows/lmo_internal.h"

#include <float.h>
#include <math.h>

enum { LEVEL_LIMIT = 300, STEP_LIMIT = 200, BRACKET_LIMIT = 60 };

#define MASS_ROUNDING nadir_round_error(32) /* of what moves, relatively */
#define LARGEST_MOVE  50.0                  /* of t at once without a bracket */

/* Sums at a level. */
typedef struct power_sums {
    double plus, minus;           /* of |Delta| / alpha */
    double plus_rate, minus_rate; /* of change / |d|, without those that are clipped */
    double unclipped;             /* of change |d|, of the others */
    double clipped;               /* of Phat / alpha |d|, of those */
    double largest;               /* |Delta| / alpha */
} power_sums;

static void add_below(double p, double step, int64_t count, const double *x, double omega, power_sums *sums)
{
    for (int64_t i = 0; i < count; i++) {
        const double g = omega - x[i];
        if (g > 0) {
            const double change = nadir_lmo_lp_change(p, step, g);
            sums->plus += change;
            sums->plus_rate += change / g;
            sums->unclipped += change * g;
            sums->largest = change > sums->largest ? change : sums->largest;
        }
    }
}

static power_sums sum_at(const nadir_lmo *lmo, const nadir_lmo_row_view *view, double step, double omega)
{
    power_sums sums = {0};
    if (view->off_support) {
        const int64_t below = nadir_value_order_below(lmo->order, omega).count;
        add_below(lmo->p, step, below, lmo->order->sorted, omega, &sums);
    } else {
        add_below(lmo->p, step, view->count, view->x, omega, &sums);
    }
    for (int64_t i = 0; i < view->count; i++) {
        const double g = view->x[i] - omega;
        if (g > 0) {
            const double change = nadir_lmo_lp_change(lmo->p, step, g);
            const double most = view->phat[i] / view->alpha;
            const double size = change < most ? change : most;
            sums.minus += size;
            sums.minus_rate += change < most ? change / g : 0;
            sums.unclipped += change < most ? change * g : 0;
            sums.clipped += change < most ? 0 : most * g;
            sums.largest = size > sums.largest ? size : sums.largest;
        }
    }
    return sums;
}

/* By how much Newton would raise omega. */
static double newton_step(double p, const power_sums *sums)
{
    const double a = 1 / (p - 1);
    if (p > 2) {
        return (sums->minus - sums->plus) / (a * (sums->plus_rate + sums->minus_rate));
    }
    const double plus = pow(sums->plus, p - 1);
    const double minus = pow(sums->minus, p - 1);
    const double rate = (sums->plus > 0 ? plus / sums->plus * sums->plus_rate : 0) +
                        (sums->minus > 0 ? minus / sums->minus * sums->minus_rate : 0);
    return (minus - plus) / rate;
}

typedef struct level_bracket {
    double low, high;               /* levels */
    double low_excess, high_excess; /* plus - minus there */
} level_bracket;

/* The next level to try: Newton's, or the middle when that leaves the bracket or the bracket shrinks slowly;
 * just across the root when Newton's step is below the resolution already. */
static double next_level(const level_bracket *bracket, double omega, double newton, double resolution,
                         bool slow)
{
    double next = omega + newton;
    if (fabs(newton) < resolution) {
        next = omega + (newton > 0 ? 2 : -2) * resolution;
    }
    if (slow || !(next > bracket->low && next < bracket->high)) {
        next = bracket->low + (bracket->high - bracket->low) / 2;
    }
    return next;
}

/* omega, upper and share for the solution's step. True: omega is enough, and `found` holds the sums there. */
static bool find_level(const nadir_lmo *lmo, const nadir_lmo_row_view *view, double highest,
                       nadir_lmo_solution *solution, power_sums *found)
{
    level_bracket bracket = {0, highest, -INFINITY, INFINITY};
    double omega = solution->omega > 0 && solution->omega < highest ? solution->omega : highest / 2;
    double width = INFINITY;
    for (int i = 0; i < LEVEL_LIMIT; i++) {
        const power_sums sums = sum_at(lmo, view, solution->step, omega);
        const double excess = sums.plus - sums.minus;
        if (isfinite(excess) && fabs(excess) <= MASS_ROUNDING * sums.plus) {
            solution->omega = omega;
            solution->upper = omega;
            *found = sums;
            return true;
        }
        if (excess < 0) {
            bracket.low = omega;
            bracket.low_excess = excess;
        } else {
            bracket.high = omega;
            bracket.high_excess = excess;
        }
        const double resolution = nadir_round_error(0.5) * bracket.high;
        const double middle = bracket.low + (bracket.high - bracket.low) / 2;
        if (bracket.high - bracket.low <= 4 * resolution || middle <= bracket.low || middle >= bracket.high) {
            break;
        }
        bool slow = false;
        if (i % 3 == 2) {
            slow = bracket.high - bracket.low > width / 2;
            width = bracket.high - bracket.low;
        }
        omega = next_level(&bracket, omega, newton_step(lmo->p, &sums), resolution, slow);
    }
    /* an end that was never evaluated */
    if (isinf(bracket.low_excess)) {
        const power_sums sums = sum_at(lmo, view, solution->step, bracket.low);
        bracket.low_excess = sums.plus - sums.minus;
    }
    if (isinf(bracket.high_excess)) {
        const power_sums sums = sum_at(lmo, view, solution->step, bracket.high);
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

/* Delta / alpha at a level. */
static double displacement_at(double p, double step, double most, double g)
{
    return g >= 0 ? nadir_lmo_lp_change(p, step, g) : -fmin(most, nadir_lmo_lp_change(p, step, -g));
}

double nadir_lmo_lp_displacement(double p, const nadir_lmo_solution *solution, double alpha, double phat,
                                 double x)
{
    const double most = phat / alpha;
    const double low = displacement_at(p, solution->step, most, solution->omega - x);
    if (!(solution->share > 0)) {
        return low;
    }
    const double high = displacement_at(p, solution->step, most, solution->upper - x);
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
    const int64_t below = view->off_support ? nadir_value_order_below(lmo->order, solution->upper).count : 0;
    for (int64_t i = 0; i < below; i++) {
        const double x = lmo->order->sorted[i];
        const double delta = nadir_lmo_lp_displacement(p, solution, view->alpha, 0, x);
        *gain += delta * (solution->omega - x);
        result = largest > 0 ? result + nadir_power(delta / largest, p) : fmax(result, delta);
    }
    for (int64_t i = 0; i < view->count; i++) {
        const double x = view->x[i];
        if (view->off_support && x < solution->omega) {
            continue; /* counted above */
        }
        const double delta = nadir_lmo_lp_displacement(p, solution, view->alpha, view->phat[i], x);
        const double counted = view->off_support && x < solution->upper
                                   ? nadir_lmo_lp_displacement(p, solution, view->alpha, 0, x)
                                   : 0; /* in the loop above */
        *gain += (delta - counted) * (solution->omega - x);
        result = largest > 0
                     ? result + nadir_power(fabs(delta) / largest, p) - nadir_power(counted / largest, p)
                     : fmax(result, fabs(delta));
    }
    return result;
}

/* gain and norm at omega alone. Of an entry that is not clipped (|Delta| / L)^p = (|Delta| / L) (g / g_L),
 * where change(g_L) = L, L being the largest |Delta| / alpha. */
static void measure_level(const nadir_lmo *lmo, const nadir_lmo_row_view *view, const power_sums *sums,
                          nadir_lmo_solution *solution)
{
    const double p = lmo->p;
    const double largest = sums->largest;
    const double g = p < 2 ? pow(largest, p - 1) / solution->step : pow(largest / solution->step, p - 1);
    double sum = sums->unclipped > 0 ? sums->unclipped / largest / g : 0;
    for (int64_t i = 0; i < view->count && sums->clipped > 0; i++) {
        const double most = view->phat[i] / view->alpha;
        const double d = view->x[i] - solution->omega;
        if (d > 0 && most > 0 && most <= nadir_lmo_lp_change(p, solution->step, d)) {
            sum += pow(most / largest, p);
        }
    }
    solution->norm = largest * pow(sum, 1 / p);
    solution->gain = view->alpha * (sums->unclipped + sums->clipped);
}

void nadir_lmo_lp_row(const nadir_lmo *lmo, const nadir_lmo_row_view *view, nadir_lmo_solution *solution)
{
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
    power_sums sums;
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

/* kappa = base exp(t), or base exp(t / a) for p < 2: small t are near the root, and have many digits. */
static double kappa_of(const nadir_lmo_group *group, double base, double t)
{
    const double p = group->lmo->p;
    return base * exp(p < 2 ? t * (p - 1) : t);
}

/* log(norm / beta) at t. */
static double excess_at(const nadir_lmo_group *group, double base, double t)
{
    double kappa = kappa_of(group, base, t);
    nadir_lmo_group_run(group, solve_at_kappa, &kappa);
    return log(nadir_lmo_group_norm(group) / group->beta);
}

/* A bracket of t, log(norm / beta) at its ends, and which end stayed the last time: its excess is halved
 * (Illinois), or it would stay for ever. */
typedef struct step_bracket {
    double low, high;
    double low_excess, high_excess;
    int stayed;
    double width; /* four steps ago */
} step_bracket;

static void narrow(step_bracket *bracket, double t, double excess)
{
    if (excess <= 0) {
        bracket->high_excess *= bracket->stayed > 0 ? 0.5 : 1;
        bracket->stayed = 1;
        bracket->low = t;
        bracket->low_excess = excess;
    } else {
        bracket->low_excess *= bracket->stayed < 0 ? 0.5 : 1;
        bracket->stayed = -1;
        bracket->high = t;
        bracket->high_excess = excess;
    }
}

/* The next t. Without a bracket steps double, since slopes are at most 1 but may be much smaller. */
static double next_step(step_bracket *bracket, int i, double tolerance, double largest_move)
{
    if (isinf(bracket->low)) {
        return bracket->high - fmin(fmax(ldexp(bracket->high_excess, i), tolerance), largest_move);
    }
    if (isinf(bracket->high)) {
        return bracket->low + fmin(fmax(ldexp(-bracket->low_excess, i), tolerance), largest_move);
    }
    const double width = bracket->high - bracket->low;
    const double t =
        bracket->low - bracket->low_excess * (width / (bracket->high_excess - bracket->low_excess));
    bool slow = false;
    if (i % 4 == 3) {
        slow = width > bracket->width / 2;
        bracket->width = width;
    }
    return !slow && t > bracket->low && t < bracket->high ? t : bracket->low + width / 2;
}

/* The kappa of norm = beta, from below; solutions are those of it. False when the norm does not get there. */
static bool find_step(const nadir_lmo_group *group, double base, double *kappa)
{
    const double a = fmax(1, 1 / (group->lmo->p - 1));
    const double tolerance = nadir_round_error(8) * a;
    step_bracket bracket = {.low = -INFINITY, .high = INFINITY, .width = INFINITY};
    double t = 0;
    for (int i = 0; i < STEP_LIMIT; i++) {
        const double excess = excess_at(group, base, t);
        narrow(&bracket, t, excess);
        if (excess <= 0 && excess >= -tolerance) {
            break;
        }
        if (bracket.high - bracket.low <= tolerance + nadir_round_error(4) * fabs(t)) {
            break;
        }
        if (isinf(bracket.high) && i == BRACKET_LIMIT) {
            return false;
        }
        t = next_step(&bracket, i, tolerance, LARGEST_MOVE * a);
    }
    /* Where digits do not suffice the same t may give another norm from another start. Nothing moves at
     * kappa = 0. */
    if (t != bracket.low && excess_at(group, base, bracket.low) > tolerance) {
        bracket.low = -INFINITY;
        excess_at(group, base, bracket.low);
    }
    *kappa = kappa_of(group, base, bracket.low);
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

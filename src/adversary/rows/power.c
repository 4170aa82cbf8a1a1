/*
 * power.c: row problems of 1 < p < infinity, p != 2; see rows.h.
 *
 * With a = 1 / (p - 1) and d = x - omega, Delta / alpha is change(-d) below omega, and above it -change(d),
 * at most Phat / alpha in size. What rises and what falls, plus(omega) and minus(omega), must be equal:
 * Newton's method within a bracket, on plus^(1/a) - minus^(1/a) for p < 2, which is nearly a line however
 * large a is, and on plus - minus itself for p > 2. Where the digits of omega do not suffice (vertical
 * tangents for p > 2, high powers for p < 2) the answers at both ends of the last bracket are mixed so that
 * the mass is right; the norm is convex and stays within the ball.
 *
 * The common kappa: a row's step is kappa u (p < 2) or kappa u^a (p > 2), u = alpha w / unit. t = log kappa,
 * times a for p < 2, has log norm(t) of slope at most 1, concave where entries are clipped: found by the
 * method of false position, and taken from the side inside the ball.
 */
#include "adversary/rows/lmo_internal.h"

#include <float.h>
#include <math.h>

enum { LEVEL_LIMIT = 300, STEP_LIMIT = 200, BRACKET_LIMIT = 60 };

#define MASS_ROUNDING (16 * DBL_EPSILON) /* of what moves */
#define FAR           50.0               /* the farthest that t moves at once without a bracket */

/* Sums at a level. */
typedef struct power_sums {
    double plus, minus;           /* of |Delta| / alpha */
    double plus_rate, minus_rate; /* of change / |d|, without those that are clipped */
    double whole;                 /* of change |d|, without those that are clipped */
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
            sums->whole += change * g;
            sums->largest = change > sums->largest ? change : sums->largest;
        }
    }
}

static power_sums sum_at(const nadir_lmo *rows, const nadir_lmo_row_view *view, double step, double omega)
{
    power_sums sums = {0};
    if (view->spread) {
        const int64_t below = nadir_value_order_below(rows->order, omega).count;
        add_below(rows->p, step, below, rows->order->sorted, omega, &sums);
    } else {
        add_below(rows->p, step, view->count, view->x, omega, &sums);
    }
    for (int64_t i = 0; i < view->count; i++) {
        const double g = view->x[i] - omega;
        if (g > 0) {
            const double change = nadir_lmo_lp_change(rows->p, step, g);
            const double most = view->phat[i] / view->alpha;
            const double size = change < most ? change : most;
            sums.minus += size;
            sums.minus_rate += change < most ? change / g : 0;
            sums.whole += change < most ? change * g : 0;
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

typedef struct bracket {
    double low, high;               /* levels */
    double low_excess, high_excess; /* plus - minus there */
} bracket;

/* The next level to try: Newton's, or the middle when that leaves the bracket or the bracket shrinks slowly;
 * just across the root when Newton's is next to it already. */
static double next_level(const bracket *at, double omega, double newton, double least, bool slow)
{
    double next = omega + newton;
    if (fabs(newton) < least) {
        next = omega + (newton > 0 ? 2 : -2) * least;
    }
    if (slow || !(next > at->low && next < at->high)) {
        next = at->low + (at->high - at->low) / 2;
    }
    return next;
}

/* omega, upper and share for the answer's step. True: omega is enough, and `found` holds the sums there. */
static bool find_level(const nadir_lmo *rows, const nadir_lmo_row_view *view, double highest,
                       nadir_lmo_solution *answer, power_sums *found)
{
    bracket at = {0, highest, -INFINITY, INFINITY};
    double omega = answer->omega > 0 && answer->omega < highest ? answer->omega : highest / 2;
    double width = INFINITY;
    for (int i = 0; i < LEVEL_LIMIT; i++) {
        const power_sums sums = sum_at(rows, view, answer->step, omega);
        const double excess = sums.plus - sums.minus;
        if (isfinite(excess) && fabs(excess) <= MASS_ROUNDING * sums.plus) {
            answer->omega = omega;
            answer->upper = omega;
            *found = sums;
            return true;
        }
        if (excess < 0) {
            at.low = omega;
            at.low_excess = excess;
        } else {
            at.high = omega;
            at.high_excess = excess;
        }
        const double least = DBL_EPSILON / 4 * at.high;
        const double middle = at.low + (at.high - at.low) / 2;
        if (at.high - at.low <= 4 * least || middle <= at.low || middle >= at.high) {
            break;
        }
        bool slow = false;
        if (i % 3 == 2) {
            slow = at.high - at.low > width / 2;
            width = at.high - at.low;
        }
        omega = next_level(&at, omega, newton_step(rows->p, &sums), least, slow);
    }
    /* an end that was never tried */
    if (isinf(at.low_excess)) {
        const power_sums sums = sum_at(rows, view, answer->step, at.low);
        at.low_excess = sums.plus - sums.minus;
    }
    if (isinf(at.high_excess)) {
        const power_sums sums = sum_at(rows, view, answer->step, at.high);
        at.high_excess = sums.plus - sums.minus;
    }
    if (isinf(at.high_excess)) { /* a step beyond all bounds */
        nadir_lmo_solution_concentrate(rows, view, answer);
        return false;
    }
    answer->omega = at.low;
    answer->upper = at.high;
    answer->share = at.low_excess < 0 ? at.low_excess / (at.low_excess - at.high_excess) : 0;
    return false;
}

/* Delta / alpha at a level. */
static double at_level(double p, double step, double most, double g)
{
    return g >= 0 ? nadir_lmo_lp_change(p, step, g) : -fmin(most, nadir_lmo_lp_change(p, step, -g));
}

double nadir_lmo_lp_displacement(double p, const nadir_lmo_solution *answer, double alpha, double phat,
                                 double x)
{
    const double most = phat / alpha;
    const double low = at_level(p, answer->step, most, answer->omega - x);
    if (!(answer->share > 0)) {
        return low;
    }
    const double high = at_level(p, answer->step, most, answer->upper - x);
    return (1 - answer->share) * low + answer->share * high;
}

/* Visits every Delta / alpha of the row that is not zero: adds (|Delta| / largest alpha)^p to the sum, or
 * finds the largest of them (largest = 0); gain in units of alpha. */
static double measure(const nadir_lmo *rows, const nadir_lmo_row_view *view, const nadir_lmo_solution *answer,
                      double largest, double *gain)
{
    const double p = rows->p;
    double result = 0;
    *gain = 0;
    const int64_t below = view->spread ? nadir_value_order_below(rows->order, answer->upper).count : 0;
    for (int64_t i = 0; i < below; i++) {
        const double x = rows->order->sorted[i];
        const double delta = nadir_lmo_lp_displacement(p, answer, view->alpha, 0, x);
        *gain += delta * (answer->omega - x);
        result = largest > 0 ? result + nadir_power(delta / largest, p) : fmax(result, delta);
    }
    for (int64_t i = 0; i < view->count; i++) {
        const double x = view->x[i];
        if (view->spread && x < answer->omega) {
            continue; /* as the others below */
        }
        const double delta = nadir_lmo_lp_displacement(p, answer, view->alpha, view->phat[i], x);
        const double counted = view->spread && x < answer->upper
                                   ? nadir_lmo_lp_displacement(p, answer, view->alpha, 0, x)
                                   : 0; /* by the loop before */
        *gain += (delta - counted) * (answer->omega - x);
        result = largest > 0
                     ? result + nadir_power(fabs(delta) / largest, p) - nadir_power(counted / largest, p)
                     : fmax(result, fabs(delta));
    }
    return result;
}

/* gain and norm at omega alone. Of an entry that is not clipped (|Delta| / L)^p = (|Delta| / L) (g / g_L),
 * where change(g_L) = L, L being the largest |Delta| / alpha. */
static void measure_level(const nadir_lmo *rows, const nadir_lmo_row_view *view, const power_sums *sums,
                          nadir_lmo_solution *answer)
{
    const double p = rows->p;
    const double largest = sums->largest;
    const double g = p < 2 ? pow(largest, p - 1) / answer->step : pow(largest / answer->step, p - 1);
    double sum = sums->whole > 0 ? sums->whole / largest / g : 0;
    for (int64_t i = 0; i < view->count && sums->clipped > 0; i++) {
        const double most = view->phat[i] / view->alpha;
        const double d = view->x[i] - answer->omega;
        if (d > 0 && most > 0 && most <= nadir_lmo_lp_change(p, answer->step, d)) {
            sum += pow(most / largest, p);
        }
    }
    answer->norm = largest * pow(sum, 1 / p);
    answer->gain = view->alpha * (sums->whole + sums->clipped);
}

void nadir_lmo_lp_row(const nadir_lmo *rows, const nadir_lmo_row_view *view, nadir_lmo_solution *answer)
{
    double highest = 0;
    for (int64_t i = 0; i < view->count; i++) {
        highest = view->phat[i] > 0 && view->x[i] > highest ? view->x[i] : highest;
    }
    answer->share = 0;
    answer->gain = 0;
    answer->norm = 0;
    if (!(highest > 0)) {
        answer->omega = 0;
        answer->upper = 0;
        return;
    }
    power_sums sums;
    if (find_level(rows, view, highest, answer, &sums)) {
        if (sums.largest > 0) {
            measure_level(rows, view, &sums, answer);
        }
    } else if (isfinite(answer->step)) {
        double gain;
        const double largest = measure(rows, view, answer, 0, &gain);
        const double sum = measure(rows, view, answer, largest, &gain);
        answer->norm = largest * nadir_power(sum, 1 / rows->p);
        answer->gain = view->alpha * fmax(0, gain);
    }
}

static void visit(const nadir_lmo_group *group, int64_t row, double *room, void *data)
{
    const double *kappa = data;
    const double p = group->rows->p;
    const double share = nadir_lmo_group_weight(group, row);
    const nadir_lmo_row_view view = nadir_lmo_row_view_make(group->rows, row, room);
    nadir_lmo_solution *answer = &group->answers[row - group->first];
    answer->step = *kappa * (p < 2 ? share : nadir_power(share, 1 / (p - 1)));
    nadir_lmo_lp_row(group->rows, &view, answer);
}

/* kappa = base exp(t), or base exp(t / a) for p < 2: small t are near the root, and have many digits. */
static double kappa_of(const nadir_lmo_group *group, double base, double t)
{
    const double p = group->rows->p;
    return base * exp(p < 2 ? t * (p - 1) : t);
}

/* log(norm / beta) at t. */
static double excess_at(const nadir_lmo_group *group, double base, double t)
{
    double kappa = kappa_of(group, base, t);
    nadir_lmo_group_run(group, visit, &kappa);
    return log(nadir_lmo_group_norm(group) / group->beta);
}

/* A bracket of t, log(norm / beta) at its ends, and which end stayed the last time: its excess counts half,
 * or it would stay for ever. */
typedef struct step_bracket {
    double low, high;
    double low_excess, high_excess;
    int stayed;
    double width; /* some steps ago */
} step_bracket;

static void narrow(step_bracket *at, double t, double excess)
{
    if (excess <= 0) {
        at->high_excess *= at->stayed > 0 ? 0.5 : 1;
        at->stayed = 1;
        at->low = t;
        at->low_excess = excess;
    } else {
        at->low_excess *= at->stayed < 0 ? 0.5 : 1;
        at->stayed = -1;
        at->high = t;
        at->high_excess = excess;
    }
}

/* The next t. Without a bracket steps double, since slopes are at most 1 but may be much smaller. */
static double next_step(step_bracket *at, int i, double tolerance, double far)
{
    if (isinf(at->low)) {
        return at->high - fmin(fmax(ldexp(at->high_excess, i), tolerance), far);
    }
    if (isinf(at->high)) {
        return at->low + fmin(fmax(ldexp(-at->low_excess, i), tolerance), far);
    }
    const double width = at->high - at->low;
    const double t = at->low - at->low_excess * (width / (at->high_excess - at->low_excess));
    bool slow = false;
    if (i % 4 == 3) {
        slow = width > at->width / 2;
        at->width = width;
    }
    return !slow && t > at->low && t < at->high ? t : at->low + width / 2;
}

/* The kappa of norm = beta, from below; answers are those of it. False when the norm does not get there. */
static bool find_step(const nadir_lmo_group *group, double base, double *kappa)
{
    const double a = fmax(1, 1 / (group->rows->p - 1));
    const double tolerance = 4 * DBL_EPSILON * a;
    step_bracket at = {.low = -INFINITY, .high = INFINITY, .width = INFINITY};
    double t = 0;
    for (int i = 0; i < STEP_LIMIT; i++) {
        const double excess = excess_at(group, base, t);
        narrow(&at, t, excess);
        if (excess <= 0 && excess >= -tolerance) {
            break;
        }
        if (at.high - at.low <= tolerance + 2 * DBL_EPSILON * fabs(t)) {
            break;
        }
        if (isinf(at.high) && i == BRACKET_LIMIT) {
            return false;
        }
        t = next_step(&at, i, tolerance, FAR * a);
    }
    /* Where digits do not suffice the same t may answer otherwise, from another start. Nothing moves at 0. */
    if (t != at.low && excess_at(group, base, at.low) > tolerance) {
        at.low = -INFINITY;
        excess_at(group, base, at.low);
    }
    *kappa = kappa_of(group, base, at.low);
    return true;
}

static nadir_lmo_common common_of(double p, double kappa)
{
    return (nadir_lmo_common){kappa, 1 / (p * (p < 2 ? kappa : pow(kappa, p - 1)))};
}

nadir_lmo_common nadir_lmo_lp(const nadir_lmo_group *group, double start)
{
    const double p = group->rows->p;
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

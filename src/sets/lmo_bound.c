/*
 * lmo_bound.c: upper bounds on the gain of the adversary, by weak duality; see lmo.h.
 *
 * For Delta = X - Phat, which sums to zero, x - omega = g1 + g2 and g2 >= 0,
 *
 *     -Delta . x = -Delta . g1 + Phat . g2 - X . g2 <= |Delta|_p |g1|_q + Phat . g2        since X >= 0.
 *
 * g1 is x - omega, but above omega at most the size at which the entry falls to zero:
 * (Phat / alpha)^(p-1) / step for p <= 2, (Phat / (alpha step))^(p-1) for p > 2; p = infinity: 0 where
 * Phat < alpha step. Successors other than the nominal ones, Phat = 0, count where they lie below omega: sums
 * along the order over all states below omega. p = 1: omega is 1 / step above the smallest x.
 *
 * In a box x - omega = g1 + g2 - g3 with g3 >= 0, too, and the bound is |Delta|_p |g1|_q + (Phat - l) . g2 + (u - Phat) . g3:
 * above omega g1 is at most the size at which the entry falls to l, below it that at which it rises to u. p = 1: omega is
 * in the middle between the levels that fall and rise. With weights of entries it is |Delta / w|_2 |w g1|_2, and g1 is that of
 * alpha w^2.
 *
 * Rounding: the error of a sum of n terms of one sign is below (n + 16) u, powers included. range x is
 * v - min v to a relative 5 u, so that for v itself another 5 u range |Delta|_p |x|_q is due, or
 * 11 u range Phat . x, since X . x <= Phat . x up to rounding for any X that gains. (x below 1e-140 is taken
 * for 0: less than the rounding of v, which callers add.) With rewards on landing, v - min v + landing e has two
 * terms of any sign and of at most `range` together: x is off by 5 u of the first, 3 u of the second, and u each
 * for their sum and for the smallest that is subtracted, 10 u in all. (e as nadir_landing_e has it: its own
 * rounding is part of landing.slack.)
 */
#include "sets/lmo_internal.h"

#include <float.h>
#include <math.h>

/* |g1|_q: the largest entry of g1, then sum (g1 / largest)^q; q = infinity: the largest alone. */
typedef struct norm_sum {
    double q, largest, sum;
} norm_sum;

static void add_size(norm_sum *to, double g)
{
    if (to->q == 1) {
        to->sum += g;
    } else if (to->largest > 0) {
        to->sum += nadir_power(g / to->largest, to->q);
    }
}

/* The largest g1 of an entry that can change by `phat` at most: as much as that takes. */
static double largest_g1(const nadir_lmo *lmo, const nadir_lmo_solution *solution, double alpha, double phat)
{
    const double p = lmo->p;
    if (!(alpha > 0) || !(solution->step > 0)) {
        return INFINITY;
    }
    if (isinf(p)) {
        return phat < alpha * solution->step ? 0 : INFINITY;
    }
    if (p <= 2) {
        return (p == 1 ? 1 : nadir_power(phat / alpha, p - 1)) / solution->step;
    }
    return pow(phat / (alpha * solution->step), p - 1);
}

/* parts[count] <- |g1| of the row's own entries; 0 for those below omega that are counted along the order. Returns Phat . g2; *largest: raised to the largest g1. */
static double split(const nadir_lmo *lmo, const nadir_lmo_row_view *view, const nadir_lmo_solution *solution,
                    double omega, double *parts, double *largest)
{
    double fixed = 0;
    for (int64_t i = 0; i < view->count; i++) {
        const double d = view->x[i] - omega;
        const double most = d > 0 ? largest_g1(lmo, solution, view->alpha, view->phat[i]) : 0;
        if (d <= 0) {
            parts[i] = view->off_support && view->plain == NULL ? 0 : -d;
        } else if (d <=
                   nadir_round_above(most, 1, 8)) { /* rounding of d: better in g1 than all of Phat in g2 */
            parts[i] = d;
        } else {
            parts[i] = most;
            fixed += view->phat[i] * (d - most);
        }
        *largest = fmax(*largest, parts[i]);
    }
    return fixed;
}

/* sum over states below omega of (omega - x)^q, scaled as norm_sum is: of all, or of those that the row does
 * not list, if these have costs of their own. */
static void add_order(const nadir_lmo *lmo, const nadir_lmo_row_view *view, double omega, norm_sum *to)
{
    const nadir_value_order *order = lmo->order;
    const nadir_value_order_sums below = nadir_lmo_tail_below(lmo, view, omega);
    if (to->q == 1) {
        to->sum += below.first;
    } else if (to->q == 2 && to->largest > 0) {
        to->sum += below.second / to->largest / to->largest;
    } else if (view->plain == NULL) {
        for (int64_t i = 0; i < below.count; i++) {
            add_size(to, omega - order->sorted[i]);
        }
    } else {
        const int64_t end = nadir_value_order_count(order, view->base, omega);
        for (int64_t i = 0; i < end; i++) {
            if (!nadir_lmo_lists(view->count, view->columns, order->order[i])) {
                add_size(to, omega - (order->sorted[i] - view->base));
            }
        }
    }
}

/* The same in a box, with weights of entries w |g1|; returns (Phat - l) . g2 + (u - Phat) . g3. d is off by a rounding of x and omega, which is paid for. */
static double split_box(const nadir_lmo *lmo, const nadir_lmo_row_view *view,
                        const nadir_lmo_solution *solution, double omega, double *parts, double *largest)
{
    double fixed = 0;
    for (int64_t i = 0; i < view->count; i++) {
        const double d = view->x[i] - omega;
        const double w = view->weight != NULL ? view->weight[i] : 1;
        const double room = fmax(d > 0 ? view->phat[i] - nadir_lmo_row_view_low(view, i)
                                       : nadir_lmo_row_view_high(view, i) - view->phat[i],
                                 0);
        /* an entry of weight 0 has no room */
        const double g1 = w > 0 ? fmin(fabs(d), largest_g1(lmo, solution, view->alpha * w * w, room)) : 0;
        fixed +=
            w > 0 ? room * ((fabs(d) - g1) + nadir_round_error(2) * (fabs(view->x[i]) + fabs(omega))) : 0;
        parts[i] = w * g1;
        *largest = fmax(*largest, parts[i]);
    }
    return fixed;
}

/* |g1|_q rounded up. parts: [count]. */
static double size_of(const nadir_lmo *lmo, const nadir_lmo_row_view *view, double omega, double largest,
                      const double *parts)
{
    const double q = lmo->q;
    const double terms = (double)(lmo->order->states + 16);
    norm_sum sum = {.q = q, .largest = largest};
    if (isinf(q)) {
        return nadir_round_up(largest, 4);
    }
    if (view->off_support) {
        add_order(lmo, view, omega, &sum);
    }
    for (int64_t i = 0; i < view->count; i++) {
        add_size(&sum, parts[i]);
    }
    const double root = q == 1 ? sum.sum : largest * nadir_power(sum.sum, 1 / q);
    return nadir_round_up(root, terms);
}

nadir_lmo_row_bound nadir_lmo_bound(const nadir_lmo *lmo, int64_t row, const nadir_lmo_solution *solution,
                                    double *work)
{
    const double range = lmo->order->range;
    const nadir_lmo_row_view view = nadir_lmo_row_view_make(lmo, row, work);
    double *parts = work + 2 * nadir_lmo_longest_row(lmo, row, row + 1);
    const double terms = (double)(view.count + 16);
    const bool boxed = nadir_lmo_row_view_is_boxed(&view);
    double omega = lmo->p != 1 ? solution->omega
                   : boxed     ? solution->omega / 2 + solution->upper / 2
                               : 1 / solution->step;
    if (!isfinite(omega) || !(solution->step >= 0)) {
        omega = 0;
    }
    double largest = view.off_support && omega > 0 ? omega : 0;
    const double fixed = boxed ? split_box(lmo, &view, solution, omega, parts, &largest)
                               : split(lmo, &view, solution, omega, parts, &largest);
    const double slope = size_of(lmo, &view, omega, largest, parts);
    if (view.count == 1 && !view.off_support) {
        return (nadir_lmo_row_bound){0}; /* the row has one successor */
    }
    double mean = view.base;
    for (int64_t i = 0; i < view.count; i++) {
        mean += view.phat[i] * view.x[i];
    }
    const double most = view.weight != NULL ? nadir_round_up(mean - view.base, terms + 4) * range : 0;
    const double allowed = (double)(view.off_support ? lmo->order->states : view.count);
    if (lmo->costs != NULL) { /* the rounding of costs is their bound's business */
        return (nadir_lmo_row_bound){.fixed = nadir_round_up(fixed, terms + 4) * range,
                                     .slope = nadir_round_up(slope, 4) * range,
                                     .most = most};
    }
    const bool lands = lmo->landing != 0; /* |Delta|_1 <= 2 */
    return (nadir_lmo_row_bound){
        .fixed = nadir_round_up(fixed, terms + 4) * range,
        .slope = nadir_round_up(slope, 4) * range,
        .error = lands ? nadir_round_error(24) * range : nadir_round_error(12) * mean * range,
        .error_slope = nadir_round_error(lands ? 12 : 6) * nadir_power(allowed, 1 / lmo->q) * range,
        .most = most,
    };
}

/* x, a product or sum of few numbers, rounded up; DBL_MIN pays for underflow. */
static double up(double x)
{
    return x > 0 ? nadir_round_up(x, 8) + DBL_MIN : x;
}

/* weight alpha slope, rounded up: positive where all of them are, even if the product underflows. */
static double reach_of(const nadir_lmo *lmo, int64_t row, double weight, const nadir_lmo_row_bound *bound)
{
    const double alpha = nadir_lmo_scale(lmo, row);
    const bool reaches = weight > 0 && alpha > 0 && bound->slope > 0;
    return reaches ? fmax(up(weight * alpha * bound->slope), DBL_MIN) : 0;
}

/* fixed with the rounding of x, within |Delta|_p <= radius. */
static double fixed_within(const nadir_lmo_row_bound *bound, double radius)
{
    return up(bound->fixed + fmin(bound->error, up(bound->error_slope * radius)));
}

double nadir_lmo_bound_radius(const nadir_lmo_row_bound *bound, double radius)
{
    return radius > 0 ? up(fixed_within(bound, radius) + up(bound->slope * radius)) : 0;
}

double nadir_lmo_bound_penalized(const nadir_lmo *lmo, int64_t row, double weight, double price,
                                 const nadir_lmo_row_bound *bound)
{
    const double p = lmo->p;
    const double alpha = nadir_lmo_scale(lmo, row);
    const double c = reach_of(lmo, row, weight, bound);
    if (!(alpha > 0) || !(weight > 0)) {
        return 0;
    }
    /* the largest c t - price t^p over t = |Delta|_p / alpha <= 2 / alpha, since |Delta|_1 <= 2 */
    double best = p == 1                 ? 2 / alpha * fmax(0, c - price)
                  : lmo->weights != NULL ? up(weight * bound->most)
                                         : 2 * up(weight * bound->slope);
    if (p > 1 && price > 0) {
        /* not below the exact one where the quotient underflows */
        const double t = pow(fmax(c / price / p, DBL_MIN), 1 / (p - 1));
        best = fmin(best, c * t * (1 - 1 / p));
    }
    return up(up(weight * fixed_within(bound, 2)) + up(nadir_round_up(best, 64)));
}

/* With C = |w alpha slope|_q, fixed + C b - price b^p is a bound where b <= beta is used. With the larger of
 * C and p price beta^(p-1) for C it rises up to b = beta. */
double nadir_lmo_bound_shared(const nadir_lmo *lmo, int64_t first, int64_t end, const double *weights,
                              double beta, double price, const nadir_lmo_row_bound *bounds)
{
    const double q = lmo->q;
    const double terms = (double)(end - first + 16);
    double fixed = 0;
    double largest = 0;
    for (int64_t row = first; row < end; row++) {
        const double weight = weights[row - first];
        const double alpha = nadir_lmo_scale(lmo, row);
        const nadir_lmo_row_bound *bound = &bounds[row - first];
        if (weight > 0 && alpha > 0 && beta > 0) {
            fixed += up(weight * fixed_within(bound, alpha * beta));
            largest = fmax(largest, reach_of(lmo, row, weight, bound));
        }
    }
    norm_sum sum = {.q = q, .largest = largest};
    for (int64_t row = first; row < end && isfinite(q); row++) {
        add_size(&sum, reach_of(lmo, row, weights[row - first], &bounds[row - first]));
    }
    double size = isinf(q) ? largest : q == 1 ? sum.sum : largest * nadir_power(sum.sum, 1 / q);
    double charge = price > 0 ? nadir_round_down(price * pow(beta, lmo->p), 8) : 0;
    if (charge >= DBL_MIN && charge <= DBL_MAX && beta > 0) { /* else the price is ignored */
        size = fmax(size, nadir_round_up(lmo->p * (charge / beta), 32));
    } else {
        charge = 0;
    }
    return beta > 0 ? up(nadir_round_up(fixed + up(beta * size), terms) - charge) : 0;
}

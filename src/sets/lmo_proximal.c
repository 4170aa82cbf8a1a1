/*
 * lmo_proximal.c: the proximal step with costs for each row; see lmo_row_costs.h.
 *
 * With z = X - Phat, z0 = from - Phat, l = curvature / alpha^2 and a multiplier k of the ball, an entry that
 * is not clipped has
 *
 *     l z + k sign(z) |z|^(p-1) / alpha^p = h,    h = l z0 + omega - c
 *     (p = inf: l z = h with |z| <= alpha radius)
 *
 * whose solution is monotone in h: by a formula for p = 1, 2, inf, otherwise by Newton's method from above in
 * z, or in z^(p-1) where that makes it convex. Sums are monotone in omega, norms in k; both are found by
 * false position.
 */
#include "linalg/root.h"
#include "linalg/vector.h"
#include "sets/lmo_internal.h"
#include "sets/lmo_row_costs.h"

#include <math.h>

/* A norm within this of the radius, relatively, is good enough. */
#define TOLERANCE 1e-12

typedef struct proximal {
    nadir_lmo_row_costs *costs;
    nadir_explicit from;
    double *dense;    /* [states] a row of `from` */
    double *norms;    /* [rows] |Delta|_p / alpha */
    double curvature; /* in units of the costs */
    /* Of the row that was read: */
    nadir_lmo_row_view view;
    double l, k, radius;   /* k / alpha^p; alpha times the radius */
    double *z0, *cost, *X; /* [count]; c - l z0; the solution */
} proximal;

/* z >= 0 with l z + k z^(p-1) = h, h > 0. */
static double solve_entry(double p, double l, double k, double h)
{
    if (p == 1) {
        return h > k ? (h - k) / l : 0;
    }
    if (p == 2 || k == 0) {
        return h / (l + k);
    }
    if (isinf(k)) {
        return 0;
    }
    /* in y = z (p > 2) or y = z^(p-1) (p < 2): linear y + power y^r = h with r >= 1, convex */
    const double r = p > 2 ? p - 1 : 1 / (p - 1);
    const double linear = p > 2 ? l : k;
    const double power = p > 2 ? k : l;
    double y = fmin(h / linear, pow(h / power, 1 / r));
    for (int i = 0; i < 60 && y > 0; i++) {
        const double raised = power * pow(y, r - 1);
        const double step = (linear * y + raised * y - h) / (linear + r * raised);
        y -= step;
        if (!(step > nadir_round_error(4) * y)) {
            break;
        }
    }
    return p > 2 ? y : pow(fmax(y, 0), r);
}

/* X at omega, and its sum less 1. */
static double fill_entries(const proximal *self, double omega)
{
    const double p = self->costs->set->p;
    const bool free = self->costs->set->domain == NADIR_DOMAIN_FREE;
    double sum = 0;
    for (int64_t i = 0; i < self->view.count; i++) {
        const double h = omega - self->cost[i];
        const double w = self->view.weight != NULL ? self->view.weight[i] : 1; /* p = 2 */
        const double z = isinf(p)           ? fmin(fabs(h) / self->l, self->radius)
                         : h == 0 || w == 0 ? 0
                                            : solve_entry(p, self->l, self->k / w / w, fabs(h));
        const double x = self->view.phat[i] + (h < 0 ? -z : z);
        self->X[i] = self->view.low != NULL ? fmin(fmax(x, self->view.low[i]), self->view.high[i])
                     : free || x > 0        ? x
                                            : 0;
        sum += self->X[i] - self->view.phat[i];
    }
    return sum;
}

/* Whether a row of `from` is the nominal one. */
static bool is_nominal(const proximal *self, int64_t row, const nadir_row *own)
{
    const nadir_row nominal = nadir_model_row(self->costs->model, row);
    bool same = own->count == nominal.count;
    for (int64_t i = 0; same && i < own->count; i++) {
        same =
            own->values[i] == nominal.values[i] && nadir_row_column(own, i) == nadir_row_column(&nominal, i);
    }
    return same;
}

/* Reads a row, and solves it for the multiplier k: omega by false position (Illinois). False: it cannot
 * move. */
static bool solve_row(proximal *self, int64_t row, double k, double radius)
{
    nadir_lmo_row_costs *costs = self->costs;
    const double p = costs->set->p;
    const double alpha = nadir_uncertainty_scale(costs->set, row);
    const double weight = costs->weights[row] > 0 ? costs->weights[row] : 1;
    if (!(alpha > 0)) {
        return false;
    }
    const nadir_row own = nadir_explicit_row(&self->from, row);
    if (costs->weights[row] == 0 && is_nominal(self, row, &own)) {
        return false;
    }
    self->view = nadir_lmo_row_costs_view(costs, row, costs->work);
    self->l = self->curvature / alpha / alpha;
    self->k = isinf(p) || k == 0 ? 0 : k / pow(alpha, p);
    self->radius = alpha * radius;
    nadir_lmo_row_costs_columns(costs, row, costs->columns);
    for (int64_t i = 0; i < self->view.count; i++) {
        self->dense[costs->columns[i]] = 0;
    }
    for (int64_t i = 0; i < own.count; i++) {
        self->dense[own.columns[i]] = own.values[i];
    }
    nadir_bracket bracket = {INFINITY, -INFINITY}; /* levels at which all entries fall, or rise */
    for (int64_t i = 0; i < self->view.count; i++) {
        self->z0[i] = self->dense[costs->columns[i]] - self->view.phat[i];
        self->cost[i] = weight * self->view.x[i] - self->l * self->z0[i];
        bracket.low = fmin(bracket.low, self->cost[i]);
        bracket.high = fmax(bracket.high, self->cost[i]);
    }
    if (costs->set->domain != NADIR_DOMAIN_FREE && !isinf(p) &&
        self->view.low == NULL) { /* the cheapest entry alone reaches 1 there */
        bracket.high = fmin(bracket.high, nextafter(bracket.low + self->l + self->k, INFINITY));
    }
    double below = fill_entries(self, bracket.low);
    double above = fill_entries(self, bracket.high);
    for (int i = 0; i < 100 && below < -NADIR_ROUND_UNIT && above > NADIR_ROUND_UNIT; i++) {
        const bool halve = i % 6 == 5;
        const double middle = nadir_bracket_false_position(&bracket, below, above, halve);
        if (!nadir_bracket_contains(&bracket, middle)) {
            break;
        }
        const double sum = fill_entries(self, middle);
        nadir_bracket_narrow(&bracket, middle, sum <= 0);
        *(sum <= 0 ? &below : &above) = sum;
        *(sum <= 0 ? &above : &below) /= halve ? 1 : 2;
    }
    double excess = fill_entries(self, -below < above ? bracket.low : bracket.high);
    if (costs->set->domain != NADIR_DOMAIN_FREE && !(excess > -1)) { /* zeros have no sum to divide by */
        excess = fill_entries(self, bracket.high);
    }
    for (int64_t i = 0; i < self->view.count; i++) { /* removes the rounding of the sum */
        self->X[i] = costs->set->domain == NADIR_DOMAIN_FREE ? self->X[i] - excess / (double)self->view.count
                                                             : self->X[i] / (1 + excess);
    }
    return true;
}

static double norm_at(proximal *self, const nadir_lmo_cost_group *group, double k)
{
    const double p = self->costs->set->p;
    for (int64_t row = group->first; row < group->end; row++) {
        self->norms[row] = 0;
        if (solve_row(self, row, k, group->radius)) {
            for (int64_t i = 0; i < self->view.count; i++) {
                const double w = self->view.weight != NULL ? self->view.weight[i] : 1;
                self->X[i] = w > 0 ? (self->X[i] - self->view.phat[i]) / w : 0;
            }
            self->norms[row] = nadir_norm_short(self->view.count, self->X, p) / self->view.alpha;
        }
    }
    return nadir_norm_short(group->end - group->first, self->norms + group->first, p);
}

/* The smallest k whose X lie in the ball. */
static double find_multiplier(proximal *self, const nadir_lmo_cost_group *group)
{
    const double radius = group->radius * NADIR_LMO_INSIDE;
    if (isinf(self->costs->set->p) || norm_at(self, group, 0) <= radius) {
        return 0;
    }
    nadir_bracket bracket = {self->curvature, self->curvature};
    double outside = norm_at(self, group, bracket.low);
    double inside = outside;
    while (outside <= radius && bracket.low > 0) {
        bracket = (nadir_bracket){bracket.low / 64, bracket.low};
        inside = outside;
        outside = norm_at(self, group, bracket.low);
    }
    while (inside > radius && isfinite(bracket.high)) {
        bracket = (nadir_bracket){bracket.high, bracket.high * 64};
        outside = inside;
        inside = norm_at(self, group, bracket.high);
    }
    for (int i = 0;
         i < 100 && inside < radius * (1 - TOLERANCE) && bracket.high > nadir_round_up(bracket.low, 2); i++) {
        const bool halve = i % 3 == 2 || !(inside > 0);
        const double middle = nadir_bracket_power(&bracket, outside, inside, radius, halve);
        if (!nadir_bracket_contains(&bracket, middle)) {
            break;
        }
        const double norm = norm_at(self, group, middle);
        nadir_bracket_narrow(&bracket, middle, norm > radius);
        *(norm > radius ? &outside : &inside) = norm;
    }
    return bracket.high;
}

nadir_status nadir_lmo_row_costs_proximal(nadir_context *context, nadir_lmo_row_costs *costs,
                                          const nadir_kernel *from, double curvature, double *length)
{
    nadir_status status = NADIR_OK;
    const int64_t n = costs->model->states;
    proximal self = {.costs = costs,
                     .curvature = curvature / costs->scale,
                     .z0 = costs->work + 2 * n,
                     .cost = costs->work + 3 * n,
                     .X = costs->work + 4 * n};
    *length = 0;
    nadir_lmo_row_costs_begin(costs);
    NADIR_NEW_ZERO(context, self.dense, n);
    NADIR_NEW(context, self.norms, costs->model->rows);
    NADIR_CHECK(nadir_explicit_make(context, from, &self.from));
    for (int64_t next = 0; next < costs->model->rows && self.curvature > 0 && isfinite(self.curvature);) {
        const nadir_lmo_cost_group group = nadir_lmo_cost_group_from(costs, next);
        const double k = group.radius > 0 ? find_multiplier(&self, &group) : 0;
        next = group.end;
        for (int64_t row = group.first; row < group.end && group.radius > 0; row++) {
            if (!solve_row(&self, row, k, group.radius)) {
                continue;
            }
            for (int64_t i = 0; i < self.view.count; i++) {
                const double moved = (self.X[i] - self.view.phat[i] - self.z0[i]) / self.view.alpha;
                *length += moved * moved;
            }
            NADIR_CHECK(nadir_lmo_row_costs_append(context, costs, row, &self.view, self.X));
        }
        if (costs->set->set == NADIR_SET_NONRECT && costs->set->p == 2) {
            costs->tau = k * costs->scale / 2;
        }
    }
cleanup:
    nadir_explicit_clear(context, &self.from);
    nadir_release(context, self.dense);
    nadir_release(context, self.norms);
    return status;
}

/*
 * kkt.c: first-order optimality of a candidate with a bound on what it lacks, its displacement from the
 * nominal kernel, and both together as a stationary point; see kkt.h.
 */
#include "proof/kkt.h"

#include "core/round.h"
#include "linalg/distributed.h"
#include "linalg/threads.h"
#include "model/landing.h"

#include <math.h>
#include <string.h>

#define HEAVIEST  1e100 /* weight of an entry */
#define UNVISITED 1e-12 /* share of the occupancy of all states below which a state counts as unvisited */

static void clear_kkt(nadir_context *context, nadir_kkt *kkt)
{
    nadir_release(context, kkt->slack);
    nadir_release(context, kkt->w_unvisited);
    *kkt = (nadir_kkt){0};
}

/* The value that the gradient of rows is made of. */
typedef struct row_values {
    double *v;               /* [states] and ghosts: the value less the middle of its range */
    double largest;          /* the largest |value| */
    double landing;          /* the largest |landing e| that is added to it */
    double range;            /* the largest |v| and that */
    nadir_value_order order; /* of v, for open rows */
    double *g;               /* [entries] work space, in a box; else NULL */
} row_values;

/* v, or v + landing e, of an entry of row i. */
static double cost_of(const nadir_perturbable_rows *perturbable, const row_values *self, int64_t i, int64_t j)
{
    const double v = self->v[nadir_perturbable_rows_column(perturbable, i, j)];
    return perturbable->landing != NULL ? v + perturbable->landing[perturbable->starts[i] + j] : v;
}

/* A residual that leaves v as it is given. */
#define AS_GIVEN 1e-3

/* Solves for v, unless it is given, and keeps it in kept: [states] or NULL; J = mu . v, and the first part of the
 * error: residual, row sums and the dot product. */
static nadir_status solve_value(nadir_context *context, nadir_kkt *kkt, const double *given, double *kept,
                                row_values *self)
{
    const nadir_expansion_point *point = kkt->point;
    const int64_t n = kkt->perturbable->states;
    nadir_solve_error enclosed;
    double dot_error;
    double low = INFINITY;
    double high = -INFINITY;
    const double *start = point->start != NULL ? point->start->v : NULL;
    NADIR_TRY(nadir_verified_solve(context, &point->problem, &point->known, false, point->problem.R, 0,
                                   given != NULL ? given : start, given != NULL ? AS_GIVEN : 0, self->v,
                                   &enclosed));
    kkt->J = nadir_global_dot(context, n, point->problem.mu, self->v, &dot_error);
    /* R^pi of P* is an average over actions, with a rounding error of its own: two roundings of a state and
     * four of every row that pays on landing */
    const double rewards = point->problem.landing != 0
                               ? nadir_landing_reward_size(context, point->problem.model, 1)
                               : nadir_global_largest(context, point->problem.rows, point->problem.rewards);
    const double residual = enclosed.residual + 2 * point->known.averaging * rewards;
    for (int64_t s = 0; s < n; s++) {
        low = fmin(low, self->v[s]);
        high = fmax(high, self->v[s]);
    }
    low = nadir_allreduce_minimum(context, low);
    high = nadir_allreduce_maximum(context, high);
    self->largest = fmax(fabs(low), fabs(high));
    /* rows of delta sum to zero only up to sum_off */
    kkt->error =
        point->total * (residual + point->problem.gamma * point->sum_off * self->largest) + dot_error;
    if (kept != NULL) {
        memcpy(kept, self->v, (size_t)n * sizeof *kept);
    }
    const double middle = low + (high - low) / 2;
    for (int64_t s = 0; s < n; s++) {
        self->v[s] -= middle;
    }
    self->landing =
        nadir_round_up(fabs(point->problem.landing) * nadir_landing_largest(point->problem.model), 4);
    self->range = nadir_global_largest(context, n, self->v) + self->landing;
    nadir_exchange_fill(kkt->perturbable->exchange, self->v);
    return NADIR_OK;
}

/* The smallest v of a state that row i, which is open, does not list. Infinity: it lists all. */
static double lowest_other(const nadir_perturbable_rows *perturbable, const row_values *self, int64_t i)
{
    const int32_t *columns = perturbable->columns + perturbable->starts[i];
    const int64_t length = nadir_perturbable_rows_length(perturbable, i);
    for (int64_t place = 0; place < perturbable->states; place++) { /* at most length + 1 times */
        const int32_t t = self->order.order[place];
        int64_t low = 0;
        for (int64_t high = length; low < high;) {
            const int64_t middle = low + (high - low) / 2;
            if (columns[middle] < t) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if (low == length || columns[low] != t) {
            return self->v[t];
        }
    }
    return INFINITY;
}

/* The slack of row i: at most g - min g where X = 0; *square grows by |Delta / alpha|^2 of the row. Returns at
 * least its part of e_s, with rounding, the error of the row sum and what centring Delta costs. */
static double find_slack(const nadir_kkt *kkt, const row_values *self, int64_t i, double d, double *square)
{
    const nadir_perturbable_rows *perturbable = kkt->perturbable;
    const nadir_expansion_point *point = kkt->point;
    const int64_t start = perturbable->starts[i];
    const int64_t length = perturbable->starts[i + 1] - start;
    const double alpha = nadir_perturbable_rows_alpha(perturbable, i);
    const double force = point->problem.gamma * d * perturbable->pi[i];
    const double hold = 2 * kkt->tau / alpha;
    const double *X = point->X + start;
    const double *phat = perturbable->phat + start;
    double lowest = self->order.order != NULL ? force * lowest_other(perturbable, self, i) : INFINITY;
    double widest = 0;
    for (int64_t j = 0; j < length; j++) {
        const double weight = nadir_perturbable_rows_square(perturbable, start + j);
        const double change = weight > 0 ? (X[j] - phat[j]) / alpha / weight : 0;
        const double g = hold * change + force * cost_of(perturbable, self, i, j);
        lowest = g < lowest && weight > 0 ? g : lowest;
        widest = fabs(change) > widest ? fabs(change) : widest;
        *square += change * change * weight;
    }
    const double size = hold * widest + force * self->range; /* of the terms of g */
    const double roundings = perturbable->squares != NULL ? 12 : 8;
    const double rounding =
        nadir_round_error(roundings) * size + nadir_round_error(2) * force * self->largest;
    double lack = 0;
    for (int64_t j = 0; j < length; j++) {
        const double weight = nadir_perturbable_rows_square(perturbable, start + j);
        const double change = weight > 0 ? (X[j] - phat[j]) / alpha / weight : 0;
        const double g = hold * change + force * cost_of(perturbable, self, i, j);
        const double above = g - lowest;
        const double sure = above - 2 * rounding;
        lack += weight > 0 ? X[j] * above : 0;
        if (kkt->slack != NULL) {
            kkt->slack[start + j] = X[j] > 0 || !(sure > 0) || weight == 0 ? 0 : sure;
        }
    }
    /* a sum over the entries of the row */
    lack *= 1 + nadir_round_error((double)(length + 8));
    const double sums =
        point->sum_off * (fabs(lowest) + force * self->largest + 4 * kkt->tau * widest / alpha);
    return nadir_round_up(lack + 2 * rounding + sums, 8);
}

/* The same in a box, where g . X - min g is at most the sum of (X - l) (g - omega)_+ + (u - X) (omega - g)_+ for any
 * omega; slack is |g - omega| where X is l and g is above, or X is u and g is below. */
static double find_box_slack(const nadir_kkt *kkt, const row_values *self, int64_t i, double d,
                             double *square)
{
    const nadir_perturbable_rows *perturbable = kkt->perturbable;
    const nadir_expansion_point *point = kkt->point;
    const nadir_uncertainty *set = point->problem.uncertainty;
    const int64_t start = perturbable->starts[i];
    const int64_t length = perturbable->starts[i + 1] - start;
    const int64_t place = point->problem.model->row_starts[nadir_perturbable_rows_row(perturbable, i)];
    const double alpha = nadir_perturbable_rows_alpha(perturbable, i);
    const double force = point->problem.gamma * d * perturbable->pi[i];
    const double hold = 2 * kkt->tau / alpha;
    const double *X = point->X + start;
    const double *lower = set->lower + place; /* rows list what the box allows */
    const double *upper = set->upper + place;
    double *g = self->g + start;
    double widest = 0;
    for (int64_t j = 0; j < length; j++) {
        const double change = (X[j] - perturbable->phat[start + j]) / alpha;
        g[j] = hold * change + force * cost_of(perturbable, self, i, j);
        widest = fabs(change) > widest ? fabs(change) : widest;
        *square += change * change;
    }
    const double omega = nadir_lmo_box_level(length, g, X, lower, upper);
    const double size = hold * widest + force * self->range; /* of the terms of g */
    const double rounding = nadir_round_error(8) * size + nadir_round_error(2) * force * self->largest;
    double lack = 0;
    double room = 0; /* what the rounding of g counts for */
    for (int64_t j = 0; j < length; j++) {
        const double above = g[j] - omega;
        const double sure = fabs(above) - 2 * rounding;
        const double left = fmax(above > 0 ? X[j] - lower[j] : upper[j] - X[j], 0);
        lack += left * fabs(above);
        room += fmax(upper[j] - lower[j], 0);
        if (kkt->slack != NULL) {
            kkt->slack[start + j] = left > 0 || !(sure > 0) ? 0 : sure;
        }
    }
    /* a sum over the entries of the row; changes of a row are at most 2, and at most the room */
    lack *= 1 + nadir_round_error((double)(length + 8));
    const double sums =
        point->sum_off * (fabs(omega) + force * self->largest + 4 * kkt->tau * widest / alpha);
    return nadir_round_up(lack + 2 * fmin(room, 2) * rounding + sums, 8);
}

/* A fixed number of parts: sums do not depend on the number of threads. */
enum { PARTS = 64 };

/* Slack and ratio = e_s / d(s) of states first .. end - 1; returns their part of |Delta|^2. */
static double find_slacks_of(const nadir_kkt *kkt, const row_values *self, int64_t first, int64_t end,
                             double *ratio)
{
    const nadir_perturbable_rows *perturbable = kkt->perturbable;
    double distance = 0;
    for (int64_t s = first; s < end; s++) {
        const double d = kkt->point->d[s];
        double e = 0;
        for (int64_t i = perturbable->first[s]; i < perturbable->first[s + 1]; i++) {
            e += self->g != NULL ? find_box_slack(kkt, self, i, d, &distance)
                                 : find_slack(kkt, self, i, d, &distance);
        }
        ratio[s] = kkt->unvisited[s] || perturbable->first[s] == perturbable->first[s + 1]
                       ? 0
                       : nadir_round_up(e / d, 64);
    }
    return distance;
}

/* The same of all states, and `far`; returns a lower bound on |Delta|^2. */
static double find_slacks(const nadir_context *context, nadir_kkt *kkt, const row_values *self, double *ratio)
{
    const nadir_perturbable_rows *perturbable = kkt->perturbable;
    const int threads = nadir_threads_for(context, 4 * perturbable->entries);
    double distances[PARTS] = {0};
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int part = 0; part < PARTS; part++) {
        const int64_t first = perturbable->states * part / PARTS;
        const int64_t end = perturbable->states * (part + 1) / PARTS;
        distances[part] = find_slacks_of(kkt, self, first, end, ratio);
    }
    double distance = 0;
    for (int part = 0; part < PARTS; part++) {
        distance += distances[part];
    }
    /* a sum over all entries */
    const double roundings = (double)nadir_global_count(context, perturbable->entries) + PARTS + 16;
    distance = nadir_allreduce_sum(context, distance);
    kkt->far = fmax(kkt->beta, nadir_round_up(sqrt(distance), roundings));
    return nadir_round_down(distance, roundings);
}

/* k(s, -v)^2 of open rows, at most: entries at zero may only grow, so that with c = -min v (perturbable_rows.h) only
 * those where P* > 0 count. */
static double open_sensitivity(const nadir_kkt *kkt, const row_values *self, int64_t s)
{
    const nadir_perturbable_rows *perturbable = kkt->perturbable;
    const double lowest = self->v[self->order.order[0]];
    double all = 0;
    double entries = 0;
    for (int64_t i = perturbable->first[s]; i < perturbable->first[s + 1]; i++) {
        const double alpha_pi = nadir_perturbable_rows_alpha(perturbable, i) * perturbable->pi[i];
        double square = 0;
        for (int64_t e = perturbable->starts[i]; e < perturbable->starts[i + 1]; e++) {
            const double above = self->v[perturbable->columns[e]] - lowest;
            square += kkt->point->X[e] > 0 ? above * above : 0;
        }
        entries += (double)nadir_perturbable_rows_length(perturbable, i);
        all += alpha_pi * alpha_pi * square;
    }
    return nadir_round_up(all, entries + 16); /* sums over entries and rows */
}

/* w of unvisited states: gamma / (2 tau) k(s, -v). */
static nadir_status find_unvisited_w(nadir_context *context, nadir_kkt *kkt, nadir_sensitivity *sensitivity,
                                     row_values *self)
{
    nadir_status status = NADIR_OK;
    const int64_t n = kkt->perturbable->states;
    const double mean = nadir_global_sum(context, n, self->v) / (double)kkt->perturbable->total;
    double *up = NULL;
    bool visited = true;
    for (int64_t s = 0; s < n; s++) {
        visited = visited && !kkt->unvisited[s];
        kkt->w_unvisited[s] = 0;
    }
    if (nadir_allreduce_and(context, visited)) {
        return NADIR_OK;
    }
    NADIR_NEW(context, up, 2 * n);
    for (int64_t s = 0; s < n; s++) {
        self->v[s] -= mean;
    }
    nadir_exchange_fill(kkt->perturbable->exchange, self->v);
    /* k(s, -v)^2. Landing may hurt where v is flat: rows that have costs of their own answer to these. */
    if (kkt->perturbable->open) {
        for (int64_t s = 0; s < n; s++) {
            up[n + s] = kkt->unvisited[s] ? open_sensitivity(kkt, self, s) : 0;
        }
    } else {
        NADIR_CHECK(kkt->perturbable->landing != NULL
                        ? nadir_sensitivity_costs(context, sensitivity, kkt->unvisited, self->v, up + n)
                        : nadir_sensitivity_tables(context, sensitivity, 1, self->v, up, up + n));
    }
    /* the two shifts of v cost two roundings of its size in every entry; with landing a product and a sum */
    const double shift = nadir_round_error(self->landing > 0 ? 8 : 4) * (self->largest + self->landing);
    for (int64_t s = 0; s < n; s++) {
        double hold = 0;
        for (int64_t i = kkt->perturbable->first[s]; i < kkt->perturbable->first[s + 1]; i++) {
            hold += nadir_perturbable_rows_alpha(kkt->perturbable, i) * kkt->perturbable->pi[i];
        }
        const double k = sqrt(up[n + s]) + hold * sqrt((double)kkt->perturbable->total) * shift;
        kkt->w_unvisited[s] =
            kkt->unvisited[s] ? nadir_round_up(kkt->point->problem.gamma / (2 * kkt->tau) * k, 16) : 0;
    }
cleanup:
    nadir_release(context, up);
    return status;
}

/* Raises d of visited states to a positive number, and `off` by as much. */
static void raise_occupancies(nadir_kkt *kkt)
{
    nadir_expansion_point *point = kkt->point;
    const double least = 1e-13 * point->total;
    for (int64_t s = 0; s < kkt->perturbable->states; s++) {
        if (!kkt->unvisited[s] && point->d[s] < least) {
            point->off[s] += least;
            point->d[s] = least;
        }
    }
}

/* Takes d as it is given: [states] >= 0. */
static void take_occupancies(nadir_kkt *kkt, const double *given)
{
    nadir_expansion_point *point = kkt->point;
    for (int64_t s = 0; s < kkt->perturbable->states; s++) {
        point->off[s] = nadir_round_up(point->off[s] + fabs(point->d[s] - given[s]), 4);
        point->d[s] = given[s];
    }
}

/* What the error of d costs: 2 tau sum off_t w_t |delta_t| <= 2 tau diameter |off w|. Errors e with sum at most
 * `shared` have |e w|_2 <= shared max w, which is less than if each of many states had all of it. */
static double drift(const nadir_context *context, const nadir_kkt *kkt, const double *w)
{
    const nadir_expansion_point *point = kkt->point;
    double each = 0;
    double rest = 0;
    for (int64_t t = 0; t < kkt->perturbable->states; t++) {
        const double more = kkt->unvisited[t] ? point->d[t] : 0;
        const double off = point->off[t] + more;
        const double own =
            fmax(point->off[t] - point->shared, 0) + nadir_round_error(2) * point->off[t] + more;
        each += off * off * w[t] * w[t];
        rest += own * own * w[t] * w[t];
    }
    const double together = point->shared * nadir_global_largest(context, kkt->perturbable->states, w) +
                            sqrt(nadir_allreduce_sum(context, rest));
    const double all = fmin(sqrt(nadir_allreduce_sum(context, each)), together);
    return 2 * kkt->tau * nadir_kkt_diameter(kkt) * all *
           (1 + 1e-12 + nadir_round_error((double)kkt->perturbable->total));
}

/* Delta / alpha / w^2 of an entry. */
static double change_of(const nadir_kkt *kkt, int64_t entry, double alpha)
{
    const double square = nadir_perturbable_rows_square(kkt->perturbable, entry);
    return square > 0 ? (kkt->point->X[entry] - kkt->perturbable->phat[entry]) / alpha / square : 0;
}

/* What centring Delta by c costs: 2 tau |rho - 1| |c| |sum of delta| / alpha^2, |c| <= |Delta_i|. Where rho >
 * 1 it is a part of e_s; otherwise the sum over rows is at most this. With weights of entries |c| is at most the largest
 * |Delta| / alpha / w^2 of a row. */
static double uncentred(const nadir_context *context, const nadir_kkt *kkt)
{
    const nadir_perturbable_rows *perturbable = kkt->perturbable;
    double sum = 0;
    if (perturbable->squares != NULL) {
        for (int64_t i = 0; i < perturbable->count; i++) {
            const double alpha = nadir_perturbable_rows_alpha(perturbable, i);
            double widest = 0;
            for (int64_t e = perturbable->starts[i]; e < perturbable->starts[i + 1]; e++) {
                widest = fmax(widest, fabs(change_of(kkt, e, alpha)));
            }
            sum += widest / alpha;
        }
        return nadir_round_up(4 * kkt->tau * kkt->point->sum_off * sum, (double)perturbable->count + 16);
    }
    for (int64_t i = 0; i < perturbable->count; i++) {
        sum +=
            1 / (nadir_perturbable_rows_alpha(perturbable, i) * nadir_perturbable_rows_alpha(perturbable, i));
    }
    return 4 * kkt->tau * kkt->point->sum_off * kkt->far * sqrt(nadir_allreduce_sum(context, sum));
}

void nadir_kkt_weigh(const nadir_kkt *kkt, const nadir_occupancy_bounds *bounds, double radius, double lift,
                     double *inverse_weights)
{
    const nadir_perturbable_rows *perturbable = kkt->perturbable;
    for (int64_t s = 0; s < perturbable->states; s++) {
        const double d = kkt->point->d[s];
        /* 1 / omega rounded up: rho and gain down, the largest delta up */
        const double rho = kkt->unvisited[s] ? 0 : nadir_round_down(bounds->low[s] / d, 4);
        for (int64_t i = perturbable->first[s]; i < perturbable->first[s + 1]; i++) {
            const double alpha = nadir_perturbable_rows_alpha(perturbable, i);
            const double gain = nadir_round_down(rho * alpha * alpha / kkt->tau, 16);
            for (int64_t e = perturbable->starts[i]; e < perturbable->starts[i + 1]; e++) {
                const double pull = gain * kkt->slack[e];
                const double square = nadir_perturbable_rows_square(perturbable, e);
                const double scale = square < 1 ? alpha * sqrt(square) : alpha;
                /* |P - X| <= |P - Phat| + |X - Phat|, X = 0 without a box */
                const double moved = fabs(kkt->point->X[e] - perturbable->phat[e]);
                const double allowed = fmin(fmin(1, moved + scale * kkt->beta), scale * radius);
                const double most = nadir_round_up(fmin(allowed, alpha * alpha * lift / pull), 16);
                const double above = most > 0 ? fmin(pull / most, HEAVIEST) : 0;
                inverse_weights[e] = nadir_round_up(square / (1 + square * above), 8);
            }
        }
    }
}

/* The displacement of a candidate from the nominal kernel. */

void nadir_displacement_clear(nadir_context *context, nadir_displacement *displacement)
{
    nadir_release(context, displacement->n);
    nadir_release(context, displacement->w);
    nadir_release(context, displacement->direction);
    *displacement = (nadir_displacement){0};
}

static double weight_of(const nadir_kkt *kkt, const double *inverse_weights, int64_t entry)
{
    return inverse_weights != NULL ? inverse_weights[entry]
                                   : nadir_perturbable_rows_square(kkt->perturbable, entry);
}

/* direction (unless NULL): (Delta / alpha / w^2 - c) inverse_weights of one row, which sums to zero; returns its part of
 * n_s^2. Open rows take c = 0: states that they do not list count in their mean. */
static double displace_row(const nadir_kkt *kkt, const double *inverse_weights, int64_t i, double *direction)
{
    const int64_t start = kkt->perturbable->starts[i];
    const int64_t end = kkt->perturbable->starts[i + 1];
    const double alpha = nadir_perturbable_rows_alpha(kkt->perturbable, i);
    double mass = 0;
    double mean = 0;
    double square = 0;
    for (int64_t e = start; e < end; e++) {
        const double weight = weight_of(kkt, inverse_weights, e);
        mass += weight;
        mean += weight * change_of(kkt, e, alpha);
    }
    mean = kkt->perturbable->open ? 0 : mean / mass;
    for (int64_t e = start; e < end; e++) {
        const double far = change_of(kkt, e, alpha) - mean;
        const double weighted = far * weight_of(kkt, inverse_weights, e);
        square += far * weighted;
        if (direction != NULL) {
            direction[e] = weighted;
        }
    }
    return square;
}

nadir_status nadir_displacement_make(nadir_context *context, const nadir_kkt *kkt,
                                     const double *inverse_weights, nadir_displacement *displacement)
{
    nadir_status status = NADIR_OK;
    const nadir_perturbable_rows *perturbable = kkt->perturbable;
    if (displacement->n == NULL) {
        NADIR_NEW(context, displacement->n, perturbable->states);
        NADIR_NEW(context, displacement->w, perturbable->states);
        if (kkt->point->D != NULL) {
            NADIR_NEW(context, displacement->direction, perturbable->entries);
        }
    }
    const int threads = nadir_threads_for(context, 2 * perturbable->entries);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t s = 0; s < perturbable->states; s++) {
        double square = 0;
        for (int64_t i = perturbable->first[s]; i < perturbable->first[s + 1]; i++) {
            square += displace_row(kkt, inverse_weights, i, displacement->direction);
        }
        const double n = sqrt(square);
        if (displacement->direction != NULL) {
            for (int64_t e = perturbable->starts[perturbable->first[s]];
                 e < perturbable->starts[perturbable->first[s + 1]]; e++) {
                displacement->direction[e] = n > 0 ? displacement->direction[e] / n : 0;
            }
        }
        /* two sums over the entries of the rows of a state */
        displacement->n[s] = nadir_round_up(n, (double)(2 * perturbable->total + 64));
        displacement->w[s] = kkt->unvisited[s] ? kkt->w_unvisited[s]
                             : n > 0           ? nadir_round_up(displacement->n[s] / kkt->point->d[s], 4)
                                               : 0;
    }
cleanup:
    return status;
}

double nadir_displacement_radius(const nadir_context *context, const nadir_kkt *kkt,
                                 const nadir_displacement *displacement, const nadir_occupancy_bounds *bounds)
{
    double sum = 0;
    for (int64_t s = 0; s < kkt->perturbable->states; s++) {
        const double d = kkt->point->d[s];
        double most = bounds->high[s] * displacement->w[s]; /* unvisited */
        if (!kkt->unvisited[s]) {
            /* rho_s - 1 rounded up, 1 - rho_s rounded up */
            const double more = d > 0 ? nadir_round_up(bounds->high[s] / d, 4) - 1 : 0;
            const double less = d > 0 ? 1 - nadir_round_down(bounds->low[s] / d, 4) : 0;
            most = displacement->n[s] * fmax(fmax(more, less), 0);
        }
        sum += most * most;
    }
    /* a norm over all states */
    return nadir_round_up(2 * sqrt(nadir_allreduce_sum(context, sum)),
                          (double)(kkt->perturbable->total + 32));
}

/* A candidate with all that proofs by kappa start from. */

void nadir_stationary_point_clear(nadir_context *context, nadir_stationary_point *self)
{
    nadir_sensitivity_clear(context, &self->sensitivity);
    clear_kkt(context, &self->kkt);
    nadir_displacement_clear(context, &self->displacement);
    nadir_expansion_point_clear(context, &self->point);
    nadir_release(context, self->unvisited);
    self->unvisited = NULL;
}

/* unvisited: [states] with at most 1e-12 of the occupancy of all states. d: [states] about the occupancy of the
 * kernel; NULL: it is solved for. Any choice is valid; a poor one makes bounds wide. */
static nadir_status find_unvisited(nadir_context *context, const nadir_problem *problem,
                                   const nadir_kernel *kernel, const double *d, bool *unvisited)
{
    nadir_status status = NADIR_OK;
    nadir_occupancy *occupancy = NULL;
    double *made = NULL;
    const double total = nadir_expansion_point_total(context, problem);
    if (d == NULL) {
        NADIR_NEW(context, made, problem->states);
        NADIR_CHECK(
            nadir_occupancy_perturb(context, problem->occupancy, kernel, problem->policy, &occupancy));
        NADIR_CHECK(nadir_occupancy_solve_transposed(context, occupancy, 1, problem->mu, made, NULL));
        d = made;
    }
    for (int64_t s = 0; s < problem->states; s++) {
        unvisited[s] = !(d[s] > UNVISITED * total);
    }
cleanup:
    nadir_occupancy_free(context, occupancy);
    nadir_release(context, made);
    return status;
}

nadir_status nadir_stationary_point_make(nadir_context *context, const nadir_problem *problem,
                                         const nadir_perturbable_rows *perturbable,
                                         const nadir_candidate *candidate, nadir_occupancy_source source,
                                         nadir_stationary_point *self)
{
    nadir_status status = NADIR_OK;
    nadir_expansion_point *point = &self->point;
    const double *d = source == NADIR_OCCUPANCY_COLUMNS ? NULL : candidate->d;
    NADIR_NEW(context, self->unvisited, perturbable->states);
    NADIR_CHECK(find_unvisited(context, problem, candidate->kernel, d, self->unvisited));
    NADIR_CHECK(nadir_expansion_point_make(context, problem, perturbable, candidate->kernel, self->unvisited,
                                           source == NADIR_OCCUPANCY_NEAR ? candidate : NULL, point));
    NADIR_CHECK(source == NADIR_OCCUPANCY_COLUMNS ? nadir_expansion_point_columns(context, point)
                                                  : nadir_expansion_point_occupancy(context, point));
    NADIR_CHECK(perturbable->open
                    ? NADIR_OK
                    : nadir_sensitivity_make(context, perturbable, point->X, &self->sensitivity));
cleanup:
    return status;
}

nadir_status nadir_stationary_point_kkt(nadir_context *context, const nadir_occupancy_bounds *bounds,
                                        double beta, double tau, double **point, nadir_stationary_point *self)
{
    nadir_status status = NADIR_OK;
    const nadir_perturbable_rows *perturbable = self->point.perturbable;
    nadir_kkt *kkt = &self->kkt;
    row_values run = {0};
    double *ratio = NULL;
    double lacking;
    const int64_t n = perturbable->states;
    const double *given = point != NULL ? *point : NULL;
    double *kept = NULL;
    clear_kkt(context, kkt);
    *kkt = (nadir_kkt){.perturbable = perturbable,
                       .point = &self->point,
                       .unvisited = self->unvisited,
                       .beta = beta,
                       .tau = tau};
    if (self->point.D != NULL) {
        NADIR_NEW(context, kkt->slack, perturbable->entries);
    }
    NADIR_NEW(context, kkt->w_unvisited, perturbable->states);
    NADIR_NEW(context, run.v, nadir_model_width(self->point.problem.model));
    NADIR_NEW(context, ratio, perturbable->states);
    if (self->point.problem.uncertainty->lower != NULL) {
        NADIR_NEW(context, run.g, perturbable->entries);
    }
    if (given != NULL) {
        take_occupancies(kkt, given + n);
    }
    raise_occupancies(kkt);
    if (point != NULL && given == NULL) {
        NADIR_NEW(context, kept, 2 * n);
        memcpy(kept + n, self->point.d, (size_t)n * sizeof *kept);
    }
    NADIR_CHECK(solve_value(context, kkt, given, kept, &run));
    NADIR_CHECK(perturbable->open ? nadir_value_order_make(context, n, run.v, &run.order) : NADIR_OK);
    const double distance = find_slacks(context, kkt, &run, ratio);
    NADIR_CHECK(find_unvisited_w(context, kkt, &self->sensitivity, &run));
    NADIR_CHECK(nadir_occupancy_bounds_most(context, bounds, ratio, &lacking));
    NADIR_CHECK(nadir_displacement_make(context, kkt, NULL, &self->displacement));
    /* tau (beta^2 - |Delta|^2): beta^2 rounded up, |Delta|^2 is a lower bound; then all sums of the error */
    const double unused = tau * fmax(nadir_round_up(beta * beta, 4) - distance, 0);
    kkt->error = nadir_round_up(kkt->error + lacking + unused + drift(context, kkt, self->displacement.w) +
                                    uncentred(context, kkt),
                                NADIR_PROOF_ROUNDINGS);
    if (kept != NULL) {
        *point = kept;
        kept = NULL;
    }
cleanup:
    nadir_value_order_clear(context, &run.order);
    NADIR_RELEASE(context, run.v, run.g, ratio, kept);
    return status;
}

/* The rounding of the difference is subtracted. */
double nadir_stationary_point_level(const nadir_stationary_point *self)
{
    return nadir_round_below(self->kkt.J - self->kkt.error, fabs(self->kkt.J), 2);
}

double nadir_kkt_diameter(const nadir_kkt *kkt)
{
    return nadir_round_up(kkt->beta + kkt->far, NADIR_PROOF_ROUNDINGS);
}

double nadir_kkt_loss_by_kappa(const nadir_kkt *kkt, double kappa, double size)
{
    return kappa <= 0.5 ? 0
                        : nadir_round_up(2 * kkt->tau * (kappa - 0.5) * size * size, NADIR_PROOF_ROUNDINGS);
}

double nadir_kkt_loss_by_radius(const nadir_kkt *kkt, double radius)
{
    return nadir_round_up(kkt->tau * radius * radius / 4, NADIR_PROOF_ROUNDINGS);
}

/* standing.c: how a kernel stands in the set; see standing.h. */
#include "adversary/proof/kkt.h"

#include "linalg/distributed.h"
#include "linalg/threads.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define UNIT (DBL_EPSILON / 2)

void nadir_kkt_clear(nadir_context *context, nadir_kkt *standing)
{
    nadir_release(context, standing->change);
    nadir_release(context, standing->slack);
    nadir_release(context, standing->unvisited);
    nadir_release(context, standing->reply);
    *standing = (nadir_kkt){0};
}

void nadir_displacement_clear(nadir_context *context, nadir_pull *pull)
{
    nadir_release(context, pull->n);
    nadir_release(context, pull->w);
    nadir_release(context, pull->direction);
    *pull = (nadir_pull){0};
}

/* The value that rows are judged by. */
typedef struct judge {
    double *v;      /* [states] and ghosts: about the value, less the middle of its range */
    double largest; /* the largest |value| */
    double range;   /* the largest |v| */
} judge;

/* v by a solve of its own; J and what it is off by. */
static nadir_status solve_value(nadir_context *context, nadir_kkt *standing, judge *by)
{
    nadir_status status = NADIR_OK;
    const nadir_expansion_point *centre = standing->centre;
    const int64_t n = standing->live->states;
    nadir_solve_error enclosed;
    double dot_error;
    double low = INFINITY;
    double high = -INFINITY;
    NADIR_CHECK(nadir_expansion_point_value(context, centre, by->v, &enclosed));
    standing->J = nadir_global_dot(context, n, centre->problem.mu, by->v, &dot_error);
    /* rewards are averages over the actions, too */
    const double rewards = nadir_global_largest(context, centre->problem.rows, centre->problem.rewards);
    const double residual = enclosed.residual + 2 * centre->known.averaging * rewards;
    for (int64_t s = 0; s < n; s++) {
        low = fmin(low, by->v[s]);
        high = fmax(high, by->v[s]);
    }
    low = nadir_allreduce_minimum(context, low);
    high = nadir_allreduce_maximum(context, high);
    by->largest = fmax(fabs(low), fabs(high));
    /* rows of delta sum to zero only up to sum_off */
    standing->error =
        centre->total * (residual + centre->problem.gamma * centre->sum_off * by->largest) + dot_error;
    const double middle = low + (high - low) / 2;
    for (int64_t s = 0; s < n; s++) {
        by->v[s] -= middle;
    }
    by->range = nadir_global_largest(context, n, by->v);
    nadir_exchange_fill(standing->live->exchange, by->v);
cleanup:
    return status;
}

/* Delta / alpha of an entry. */
static double change_of(const nadir_kkt *standing, int64_t entry, double alpha)
{
    return standing->change != NULL ? standing->change[entry]
                                    : (standing->centre->X[entry] - standing->live->phat[entry]) / alpha;
}

/* Slack, [entries of the row], of one live row, and in *square its part of |Delta / alpha|^2; returns what
 * its part of e_s is at most, rounding and the sum of the row included, and what comes of centring Delta. */
static double judge_row(const nadir_kkt *standing, const judge *by, int64_t i, double d, double *slack,
                        double *square)
{
    const nadir_perturbable_rows *live = standing->live;
    const nadir_expansion_point *centre = standing->centre;
    const int64_t start = live->starts[i];
    const int64_t length = live->starts[i + 1] - start;
    const double alpha = nadir_perturbable_rows_alpha(live, i);
    const double force = centre->problem.gamma * d * live->pi[i];
    const double hold = 2 * standing->tau / alpha;
    const double *X = centre->X + start;
    double lowest = INFINITY;
    double widest = 0;
    for (int64_t j = 0; j < length; j++) {
        const double change = (X[j] - live->phat[start + j]) / alpha;
        if (standing->change != NULL) {
            standing->change[start + j] = change;
        }
        slack[j] = hold * change + force * by->v[nadir_perturbable_rows_column(live, i, j)];
        lowest = slack[j] < lowest ? slack[j] : lowest;
        widest = fabs(change) > widest ? fabs(change) : widest;
        *square += change * change;
    }
    const double size = hold * widest + force * by->range; /* of a slack's terms */
    const double rounding = 8 * UNIT * size + 2 * UNIT * force * by->largest;
    double lack = 0;
    for (int64_t j = 0; j < length; j++) {
        const double above = slack[j] - lowest;
        const double sure = above - 2 * rounding;
        lack += X[j] * above;
        slack[j] = X[j] > 0 || !(sure > 0) ? 0 : sure;
    }
    lack *= 1 + UNIT * (double)(length + 8);
    const double sums =
        centre->sum_off * (fabs(lowest) + force * by->largest + 4 * standing->tau * widest / alpha);
    return (lack + 2 * rounding + sums) * (1 + 8 * UNIT);
}

/* The states are taken in so many parts, whatever the threads: sums come out the same. */
enum { PARTS = 64 };

/* Slack, change and e / d of states first .. end - 1; returns their part of |Delta|^2. slack: room for that
 * of a row, if it is not to be kept, or NULL. */
static double judge_part(const nadir_kkt *standing, const judge *by, int64_t first, int64_t end,
                         double *slack, double *ratio, bool *bounded)
{
    const nadir_perturbable_rows *live = standing->live;
    double distance = 0;
    for (int64_t s = first; s < end; s++) {
        const double d = standing->centre->d[s];
        double e = 0;
        for (int64_t i = live->first[s]; i < live->first[s + 1]; i++) {
            double *here = slack != NULL ? slack : standing->slack + live->starts[i];
            e += judge_row(standing, by, i, d, here, &distance);
            for (int64_t j = 0; j < nadir_perturbable_rows_length(live, i) && !*bounded; j++) {
                *bounded = here[j] > 0;
            }
        }
        ratio[s] =
            standing->unvisited[s] || live->first[s] == live->first[s + 1] ? 0 : e / d * (1 + 64 * UNIT);
    }
    return distance;
}

/* The same of all states; returns a lower bound on |Delta|^2. slack: [PARTS] rooms as long as the longest
 * row, or NULL. */
static double judge_rows(const nadir_context *context, nadir_kkt *standing, const judge *by, int64_t longest,
                         double *slack, double *ratio)
{
    const nadir_perturbable_rows *live = standing->live;
    const int threads = nadir_threads_for(context, 4 * live->entries);
    double distances[PARTS] = {0};
    bool bounded[PARTS] = {0};
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int part = 0; part < PARTS; part++) {
        const int64_t first = live->states * part / PARTS;
        const int64_t end = live->states * (part + 1) / PARTS;
        distances[part] = judge_part(standing, by, first, end, slack != NULL ? slack + part * longest : NULL,
                                     ratio, &bounded[part]);
    }
    double distance = 0;
    for (int part = 0; part < PARTS; part++) {
        distance += distances[part];
        standing->bounded = standing->bounded || bounded[part];
    }
    const double entries = (double)nadir_global_count(context, live->entries);
    return nadir_allreduce_sum(context, distance) * (1 - UNIT * (entries + PARTS + 16));
}

/* w of unvisited states: gamma / (2 tau) k(s, -v). */
static nadir_status find_replies(nadir_context *context, nadir_kkt *standing, nadir_sensitivity *sensitivity,
                                 judge *by)
{
    nadir_status status = NADIR_OK;
    const int64_t n = standing->live->states;
    const double mean = nadir_global_sum(context, n, by->v) / (double)standing->live->total;
    double *up = NULL;
    bool visited = true;
    for (int64_t s = 0; s < n; s++) {
        visited = visited && !standing->unvisited[s];
        standing->reply[s] = 0;
    }
    if (nadir_allreduce_and(context, visited)) {
        return NADIR_OK;
    }
    NADIR_NEW(context, up, 2 * n);
    for (int64_t s = 0; s < n; s++) {
        by->v[s] -= mean;
    }
    nadir_exchange_fill(standing->live->exchange, by->v);
    NADIR_CHECK(nadir_sensitivity_tables(context, sensitivity, 1, by->v, up, up + n));
    /* v was rounded when it was shifted: two roundings of its size in every entry */
    const double shift = 4 * UNIT * by->largest;
    for (int64_t s = 0; s < n; s++) {
        double hold = 0;
        for (int64_t i = standing->live->first[s]; i < standing->live->first[s + 1]; i++) {
            hold += nadir_perturbable_rows_alpha(standing->live, i) * standing->live->pi[i];
        }
        const double k = sqrt(up[n + s]) + hold * sqrt((double)standing->live->total) * shift;
        standing->reply[s] = standing->unvisited[s]
                                 ? standing->centre->problem.gamma / (2 * standing->tau) * k * (1 + 16 * UNIT)
                                 : 0;
    }
cleanup:
    nadir_release(context, up);
    return status;
}

/* d > 0 in states that are visited: what that changes is in `off`. */
static void lift_visits(nadir_kkt *standing)
{
    nadir_expansion_point *centre = standing->centre;
    const double least = 1e-13 * centre->total;
    for (int64_t s = 0; s < standing->live->states; s++) {
        if (!standing->unvisited[s] && centre->d[s] < least) {
            centre->off[s] += least;
            centre->d[s] = least;
        }
    }
}

/* 2 tau sum off_t w_t |delta_t| <= 4 tau beta |off w|: what d_P - d is off by. Errors e that add up to
 * `shared` have |e w|_2 <= shared max w, which with many states is less than if each were as large. */
static double drift(const nadir_context *context, const nadir_kkt *standing, const nadir_pull *pull)
{
    const nadir_expansion_point *centre = standing->centre;
    double each = 0;
    double rest = 0;
    for (int64_t t = 0; t < standing->live->states; t++) {
        const double more = standing->unvisited[t] ? centre->d[t] : 0;
        const double off = centre->off[t] + more;
        const double own = fmax(centre->off[t] - centre->shared, 0) + 2 * UNIT * centre->off[t] + more;
        each += off * off * pull->w[t] * pull->w[t];
        rest += own * own * pull->w[t] * pull->w[t];
    }
    const double together = centre->shared * nadir_global_largest(context, standing->live->states, pull->w) +
                            sqrt(nadir_allreduce_sum(context, rest));
    const double all = fmin(sqrt(nadir_allreduce_sum(context, each)), together);
    return 4 * standing->tau * standing->beta * all * (1 + 1e-12 + UNIT * (double)standing->live->total);
}

/* Centring Delta by c takes 2 tau |rho - 1| |c| |sum of delta| / alpha^2, |c| <= |Delta_i|. Where rho > 1
 * that is in e; otherwise the sum over rows is at most this, |Delta| being at most beta up to rounding. */
static double uncentred(const nadir_context *context, const nadir_kkt *standing)
{
    const nadir_perturbable_rows *live = standing->live;
    double sum = 0;
    for (int64_t i = 0; i < live->count; i++) {
        sum += 1 / (nadir_perturbable_rows_alpha(live, i) * nadir_perturbable_rows_alpha(live, i));
    }
    return 4 * standing->tau * standing->centre->sum_off * standing->beta *
           sqrt(nadir_allreduce_sum(context, sum));
}

/* The slack of all entries, or room for that of the longest row of each part. */
static nadir_status make_slack(nadir_context *context, bool brief, nadir_kkt *standing, int64_t *most,
                               double **room)
{
    nadir_status status = NADIR_OK;
    const nadir_perturbable_rows *live = standing->live;
    int64_t longest = 0;
    *most = 0;
    if (!brief) {
        NADIR_NEW(context, standing->slack, live->entries);
        return NADIR_OK;
    }
    for (int64_t i = 0; i < live->count; i++) {
        longest = nadir_perturbable_rows_length(live, i) > longest ? nadir_perturbable_rows_length(live, i)
                                                                   : longest;
    }
    *most = longest;
    NADIR_NEW(context, *room, PARTS * longest);
cleanup:
    return status;
}

static nadir_status make(nadir_context *context, nadir_expansion_point *centre,
                         nadir_sensitivity *sensitivity, const nadir_occupancy_bounds *visits, double beta,
                         double tau, const bool *unvisited, nadir_pull *brief, nadir_kkt *standing)
{
    nadir_status status = NADIR_OK;
    const nadir_perturbable_rows *live = centre->live;
    const int64_t n = live->states;
    judge by = {0};
    double *ratio = NULL;
    double *slack = NULL;
    int64_t longest;
    double lacking;
    nadir_pull own = {.norms_alone = true};
    nadir_pull *pull = brief != NULL ? brief : &own;
    *standing = (nadir_kkt){.live = live, .centre = centre, .beta = beta, .tau = tau};
    if (brief == NULL) {
        NADIR_NEW(context, standing->change, live->entries);
    }
    NADIR_CHECK(make_slack(context, brief != NULL, standing, &longest, &slack));
    NADIR_NEW(context, standing->unvisited, n);
    NADIR_NEW(context, standing->reply, n);
    NADIR_NEW(context, by.v, nadir_model_width(centre->problem.model));
    NADIR_NEW(context, ratio, n);
    memcpy(standing->unvisited, unvisited, (size_t)n * sizeof *unvisited);
    lift_visits(standing);
    NADIR_CHECK(solve_value(context, standing, &by));
    const double distance = judge_rows(context, standing, &by, longest, slack, ratio);
    NADIR_CHECK(find_replies(context, standing, sensitivity, &by));
    NADIR_CHECK(nadir_occupancy_bounds_most(context, visits, ratio, &lacking));
    NADIR_CHECK(nadir_displacement_make(context, standing, NULL, pull));
    const double unused = tau * fmax(beta * beta * (1 + 4 * UNIT) - distance, 0);
    standing->error =
        (standing->error + lacking + unused + drift(context, standing, pull) + uncentred(context, standing)) *
        (1 + 1e-12);
cleanup:
    nadir_displacement_clear(context, &own);
    nadir_release(context, by.v);
    nadir_release(context, ratio);
    nadir_release(context, slack);
    if (status != NADIR_OK) {
        nadir_kkt_clear(context, standing);
    }
    return status;
}

nadir_status nadir_kkt_make(nadir_context *context, nadir_expansion_point *centre,
                            nadir_sensitivity *sensitivity, const nadir_occupancy_bounds *visits, double beta,
                            double tau, const bool *unvisited, nadir_kkt *standing)
{
    return make(context, centre, sensitivity, visits, beta, tau, unvisited, NULL, standing);
}

nadir_status nadir_kkt_make_brief(nadir_context *context, nadir_expansion_point *centre,
                                  nadir_sensitivity *sensitivity, const nadir_occupancy_bounds *visits,
                                  double beta, double tau, const bool *unvisited, nadir_kkt *standing,
                                  nadir_pull *pull)
{
    pull->norms_alone = true;
    return make(context, centre, sensitivity, visits, beta, tau, unvisited, pull, standing);
}

void nadir_kkt_weigh(const nadir_kkt *standing, const nadir_occupancy_bounds *visits, double radius,
                     double *inverse)
{
    const nadir_perturbable_rows *live = standing->live;
    for (int64_t s = 0; s < live->states; s++) {
        const double d = standing->centre->d[s];
        const double rho = standing->unvisited[s] ? 0 : visits->low[s] / d * (1 - 4 * UNIT);
        for (int64_t i = live->first[s]; i < live->first[s + 1]; i++) {
            const double alpha = nadir_perturbable_rows_alpha(live, i);
            const double gain = rho * alpha * alpha / standing->tau * (1 - 16 * UNIT);
            for (int64_t e = live->starts[i]; e < live->starts[i + 1]; e++) {
                const double most =
                    fmin(fmin(1, live->phat[e] + alpha * standing->beta), alpha * radius) * (1 + 8 * UNIT);
                const double above = most > 0 ? gain * standing->slack[e] / most : 0;
                inverse[e] = 1 / (1 + above) * (1 + 8 * UNIT);
            }
        }
    }
}

/* (Delta / alpha - c) inverse of one row, c so that it sums to zero, to `direction` unless that is NULL;
 * returns its part of n^2. */
static double pull_row(const nadir_kkt *standing, const double *inverse, int64_t i, double *direction)
{
    const int64_t start = standing->live->starts[i];
    const int64_t end = standing->live->starts[i + 1];
    const double alpha = nadir_perturbable_rows_alpha(standing->live, i);
    double mass = 0;
    double mean = 0;
    double square = 0;
    for (int64_t e = start; e < end; e++) {
        const double weight = inverse != NULL ? inverse[e] : 1;
        mass += weight;
        mean += weight * change_of(standing, e, alpha);
    }
    mean /= mass;
    for (int64_t e = start; e < end; e++) {
        const double far = change_of(standing, e, alpha) - mean;
        const double weighted = far * (inverse != NULL ? inverse[e] : 1);
        square += far * weighted;
        if (direction != NULL) {
            direction[e] = weighted;
        }
    }
    return square;
}

nadir_status nadir_displacement_make(nadir_context *context, const nadir_kkt *standing, const double *inverse,
                                     nadir_pull *pull)
{
    nadir_status status = NADIR_OK;
    const nadir_perturbable_rows *live = standing->live;
    if (pull->n == NULL) {
        NADIR_NEW(context, pull->n, live->states);
        NADIR_NEW(context, pull->w, live->states);
        if (!pull->norms_alone) {
            NADIR_NEW(context, pull->direction, live->entries);
        }
    }
    const int threads = nadir_threads_for(context, 2 * live->entries);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t s = 0; s < live->states; s++) {
        double square = 0;
        for (int64_t i = live->first[s]; i < live->first[s + 1]; i++) {
            square += pull_row(standing, inverse, i, pull->direction);
        }
        const double n = sqrt(square);
        if (pull->direction != NULL) {
            for (int64_t e = live->starts[live->first[s]]; e < live->starts[live->first[s + 1]]; e++) {
                pull->direction[e] = n > 0 ? pull->direction[e] / n : 0;
            }
        }
        pull->n[s] = n * (1 + UNIT * (double)(2 * live->total + 64));
        pull->w[s] = standing->unvisited[s] ? standing->reply[s]
                     : n > 0                ? pull->n[s] / standing->centre->d[s] * (1 + 4 * UNIT)
                                            : 0;
    }
cleanup:
    return status;
}

double nadir_displacement_radius(const nadir_context *context, const nadir_kkt *standing,
                                 const nadir_pull *pull, const nadir_occupancy_bounds *visits)
{
    double sum = 0;
    for (int64_t s = 0; s < standing->live->states; s++) {
        const double d = standing->centre->d[s];
        double most = visits->high[s] * pull->w[s]; /* unvisited */
        if (!standing->unvisited[s]) {
            const double more = d > 0 ? visits->high[s] / d * (1 + 4 * UNIT) - 1 : 0;
            const double less = d > 0 ? 1 - visits->low[s] / d * (1 - 4 * UNIT) : 0;
            most = pull->n[s] * fmax(fmax(more, less), 0);
        }
        sum += most * most;
    }
    return 2 * sqrt(nadir_allreduce_sum(context, sum)) * (1 + UNIT * (double)(standing->live->total + 32));
}

/*
 * radii_by_draws.c: radii that hold the asked share of random kernels; see radii.h.
 *
 * States are taken in blocks of a fixed size, each block by one thread with sums of its own, which are added
 * in the order of the blocks: what is kept are one number for each kernel and candidate, never a kernel.
 */
#include "fit/radii.h"
#include "linalg/threads.h"
#include "linalg/vector.h"

#include <math.h>
#include <omp.h>
#include <string.h>

/* ---- Quantiles --------------------------------------------------------------------------------------- */

/*
 * Quantiles of a distribution that is known by draws alone.
 *
 * The k-th smallest of M draws is below the quantile of level c only if k draws are, which has the
 * probability P(Bin(M, c) >= k), whatever the distribution: the rank is the least k that makes this small.
 */

double nadir_order_statistic(int64_t count, double *values, int64_t k)
{
    const int64_t rank = k - 1;
    double found;
    if (count > 0) { /* the value is in its place afterwards */
        (void)nadir_communication_alone.order_statistics(NULL, NULL, count, values, 1, &rank, &found);
    }
    return values[rank];
}

int64_t nadir_quantile_rank(int64_t count, double level, double risk)
{
    const double n = (double)count;
    double tail = 0; /* P(Bin >= k) */
    int64_t k = count + 1;
    while (k > 1) {
        const double next = (double)(k - 1);
        tail += exp(lgamma(n + 1) - lgamma(next + 1) - lgamma(n - next + 1) + next * log(level) +
                    (n - next) * log1p(-level));
        if (tail > risk) {
            break;
        }
        k--;
    }
    return k;
}

/* ---- Radii ------------------------------------------------------------------------------------------- */

/* Draws beyond the quantile of a row that its estimate shall rest on. */
enum { TAIL_DRAWS = 20 };

/* For every kernel: a sum for each candidate, then the largest ratios of states and of rows. */
enum { STATES_MOST = NADIR_DRAW_RADII_CANDIDATES, ROWS_MOST, SUMS };

/* The work space of a thread, and the sums of a block or of all. */
typedef struct thread_work {
    double (*numbers)[SUMS + 3]; /* [count] owned: the next four */
    double *sums[SUMS];          /* [count] */
    double *powers;              /* [count] of a row */
    double *state;               /* [count] of a state */
    double *sorted;              /* [count] */
    double *room;                /* [nadir_posterior_draws_work_length] */
} thread_work;

typedef struct counting {
    const nadir_posterior_draws *draws;
    nadir_draw_radii *radii_found;
    double exponent;
    bool largest;         /* distances do not add up over rows: the largest counts (p = infinity) */
    int64_t row_rank;     /* of the quantile of a row */
    int64_t state_rank;   /* of a state */
    int64_t block;        /* states */
    thread_work all;      /* the sums alone */
    thread_work *members; /* [threads] */
    int threads;
} counting;

static void clear_member(nadir_context *context, thread_work *member)
{
    NADIR_RELEASE(context, member->numbers, member->room);
}

static nadir_status make_member(nadir_context *context, const counting *self, thread_work *member)
{
    nadir_status status = NADIR_OK;
    const int64_t count = self->draws->count;
    NADIR_NEW_ZERO(context, member->numbers, count);
    NADIR_NEW(context, member->room, nadir_posterior_draws_work_length(self->draws));
    for (int i = 0; i < SUMS; i++) {
        member->sums[i] = (double *)member->numbers + i * count;
    }
    member->powers = (double *)member->numbers + SUMS * count;
    member->state = member->powers + count;
    member->sorted = member->state + count;
cleanup:
    return status;
}

/* sums <- sums + factor x, or the larger of both. */
static void gather(int64_t count, const double *x, double factor, bool largest, double *sums)
{
    for (int64_t k = 0; k < count; k++) {
        const double term = factor * x[k];
        sums[k] = !largest ? sums[k] + term : term > sums[k] ? term : sums[k];
    }
}

/* alpha^-p, 0 for a pinned row, whose distance is 0. */
static double weight_of(const counting *self, double scale)
{
    return scale > 0 ? 1 / nadir_power(scale, self->exponent) : 0;
}

/* The quantile, of this rank, of powers that vary; ratios to it go into `most`. A power that does not vary is
 * its own quantile, at which the rest need not look. */
static double settle(const counting *self, thread_work *member, const double *powers, int64_t rank,
                     double *most)
{
    const int64_t count = self->draws->count;
    memcpy(member->sorted, powers, (size_t)count * sizeof *powers);
    const double quantile = nadir_order_statistic(count, member->sorted, rank);
    bool varies = false;
    for (int64_t k = 1; k < count && !varies; k++) {
        varies = powers[k] != powers[0];
    }
    if (varies && quantile > 0) {
        gather(count, powers, 1 / quantile, true, most);
    }
    return varies ? quantile : -quantile; /* the sign tells, until the radii are known */
}

static void count_state(const counting *self, thread_work *member, int64_t state)
{
    const nadir_evidence *evidence = self->draws->evidence;
    nadir_draw_radii *radii_found = self->radii_found;
    const int64_t count = self->draws->count;
    memset(member->state, 0, (size_t)count * sizeof *member->state);
    for (int64_t row = evidence->state_rows[state]; row < evidence->state_rows[state + 1]; row++) {
        if (evidence->kinds[row] == NADIR_ROW_KNOWN) {
            radii_found->row_radii[row] = 0;
            continue;
        }
        nadir_posterior_draws_row(self->draws, row, member->room, member->powers);
        for (int c = 0; c < radii_found->candidates; c++) {
            gather(count, member->powers, weight_of(self, radii_found->scales[c][row]), self->largest,
                   member->sums[c]);
        }
        gather(count, member->powers, weight_of(self, radii_found->state_scales[row]), self->largest,
               member->state);
        radii_found->row_radii[row] =
            settle(self, member, member->powers, self->row_rank, member->sums[ROWS_MOST]);
    }
    radii_found->state_radii[state] =
        settle(self, member, member->state, self->state_rank, member->sums[STATES_MOST]);
}

/* Adds what a block has found to what all have, and makes it zero again. */
static void merge(const counting *self, thread_work *member)
{
    for (int i = 0; i < SUMS; i++) {
        gather(self->draws->count, member->sums[i], 1, self->largest || i >= STATES_MOST, self->all.sums[i]);
        memset(member->sums[i], 0, (size_t)self->draws->count * sizeof *member->sums[i]);
    }
}

static nadir_status count_all(nadir_context *context, const counting *self)
{
    nadir_status stopped = NADIR_OK;
    const int64_t states = self->draws->evidence->states;
    const int64_t blocks = (states + self->block - 1) / self->block;
#pragma omp parallel num_threads(self->threads)
    {
        thread_work *member = &self->members[omp_get_thread_num()];
#pragma omp for ordered schedule(dynamic, 1)
        for (int64_t block = 0; block < blocks; block++) {
            const int64_t end = (block + 1) * self->block < states ? (block + 1) * self->block : states;
            for (int64_t state = block * self->block; state < end; state++) {
                if (nadir_progress_team(context, "drawing kernels", (double)state / (double)states,
                                        &stopped)) {
                    count_state(self, member, state);
                }
            }
#pragma omp ordered
            merge(self, member);
        }
    }
    return stopped;
}

/* Radii from quantiles and from what they must be multiplied with to hold together. */
static void stretch(const counting *self, int64_t rank, double *most, int64_t places, double *radii)
{
    const double factor = nadir_order_statistic(self->draws->count, most, rank);
    for (int64_t i = 0; i < places; i++) {
        radii[i] = pow(radii[i] < 0 ? -radii[i] : radii[i] * factor, 1 / self->exponent);
    }
}

/* The rank of the quantile that one of `parts` needs by the union bound, but not so high that few draws
 * decide. */
static int64_t part_rank(const nadir_posterior_draws *draws, double confidence, int64_t parts)
{
    const double count = (double)draws->count;
    const double wanted = ceil((1 - (1 - confidence) / (double)(parts > 0 ? parts : 1)) * count);
    const double most = ceil(fmax(count - TAIL_DRAWS, 0.99 * count));
    return (int64_t)fmax(1, fmin(fmin(wanted, most), count));
}

static void find_ranks(counting *self)
{
    int64_t rows;
    int64_t states;
    nadir_evidence_count_drawn(self->draws->evidence, &rows, &states);
    self->row_rank = part_rank(self->draws, self->radii_found->confidence, rows);
    self->state_rank = part_rank(self->draws, self->radii_found->confidence, states);
}

/* Radii of largest entries turned into those of a p-norm, of which n entries have at most n^(1/p) times the
 * largest. */
static void widen(const nadir_evidence *evidence, double norm, nadir_draw_radii *radii_found)
{
    double all = 0;
    for (int64_t state = 0; state < evidence->states; state++) {
        double own = 0;
        for (int64_t row = evidence->state_rows[state]; row < evidence->state_rows[state + 1]; row++) {
            const double entries = (double)evidence->allowed[row];
            own += evidence->kinds[row] != NADIR_ROW_KNOWN ? entries : 0;
            radii_found->row_radii[row] *= pow(entries, 1 / norm);
        }
        radii_found->state_radii[state] *= pow(fmax(own, 1), 1 / norm);
        all += own;
    }
    for (int c = 0; c < radii_found->candidates; c++) {
        radii_found->radii[c] *= pow(fmax(all, 1), 1 / norm);
    }
}

/* Draws of our own can be many, so that the quantile is met but for a small risk. Given ones are what there
 * is: the truth, if it is one draw more of the same kind, is at most the k-th of M with probability
 * k / (M + 1). */
static nadir_status find_rank(nadir_context *context, const counting *self, int64_t *rank)
{
    const int64_t count = self->draws->count;
    const double confidence = self->radii_found->confidence;
    const bool given = self->draws->evidence->samples != NULL;
    *rank = given ? (int64_t)ceil((double)(count + 1) * confidence * (1 - 0x1p-50))
                  : nadir_quantile_rank(count, confidence, NADIR_DRAW_RADII_RISK);
    if (*rank <= count && (!given || count > 1)) { /* one alone has no distance from the mean */
        return NADIR_OK;
    }
    const double least = given ? fmax(ceil(confidence / (1 - confidence) * (1 - 0x1p-50)), 2)
                               : ceil(log(NADIR_DRAW_RADII_RISK) / log(confidence));
    return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                      "%lld %s are too few for a confidence of %g: at least %.0f are needed",
                      (long long)count, given ? "outcomes" : "samples", confidence, least);
}

static nadir_status find_radii(nadir_context *context, const nadir_posterior_draws *draws,
                               nadir_draw_radii *radii_found)
{
    nadir_status status = NADIR_OK;
    const nadir_evidence *evidence = draws->evidence;
    counting run = {.draws = draws, .radii_found = radii_found};
    int64_t rank;
    run.exponent = nadir_distance_exponent(draws->norm);
    run.largest = isinf(draws->norm);
    run.block = (evidence->states + 63) / 64;
    run.threads = nadir_threads_for(context, draws->count * evidence->rows);
    find_ranks(&run);
    NADIR_CHECK(find_rank(context, &run, &rank));
    NADIR_CHECK(make_member(context, &run, &run.all));
    NADIR_NEW_ZERO(context, run.members, run.threads);
    for (int i = 0; i < run.threads; i++) {
        NADIR_CHECK(make_member(context, &run, &run.members[i]));
    }
    NADIR_CHECK(count_all(context, &run));
    for (int c = 0; c < radii_found->candidates; c++) {
        radii_found->radii[c] =
            pow(nadir_order_statistic(draws->count, run.all.sums[c], rank), 1 / run.exponent);
    }
    stretch(&run, rank, run.all.sums[STATES_MOST], evidence->states, radii_found->state_radii);
    stretch(&run, rank, run.all.sums[ROWS_MOST], evidence->rows, radii_found->row_radii);
cleanup:
    clear_member(context, &run.all);
    for (int i = 0; run.members != NULL && i < run.threads; i++) {
        clear_member(context, &run.members[i]);
    }
    nadir_release(context, run.members);
    return status;
}

nadir_status nadir_draw_radii_compute(nadir_context *context, const nadir_posterior_draws *draws,
                                      nadir_draw_radii *radii_found)
{
    nadir_posterior_draws use = *draws;
    const bool steep = nadir_distance_powers_overflow(draws->norm);
    use.norm = steep ? INFINITY : draws->norm;
    const nadir_status status = find_radii(context, &use, radii_found);
    if (status == NADIR_OK && steep) {
        widen(draws->evidence, draws->norm, radii_found);
    }
    return status;
}

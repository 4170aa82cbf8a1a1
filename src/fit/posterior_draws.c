/*
 * posterior_draws.c: distances of random kernels from the nominal one; see radii.h.
 *
 * A Dirichlet row is a set of gamma variates of shapes a + n_t over their sum. Of the successors that were
 * not seen, all of shape a, only the sizes matter: their total is gamma of shape (their number) a, and where
 * they are many its pieces are drawn in size-biased order until the rest is too small to count; that rest,
 * taken for one piece, and zeros in the other places are no closer to the mean than the truth.
 *
 * Bootstrap data have N - 1 observations of the nominal row, since the variance of N of them is on average
 * (1 - 1/N) of that of the data, and a successor never seen is drawn as often as the mean says.
 */
#include "fit/radii.h"
#include "fit/variates.h"
#include "linalg/vector.h"

#include <math.h>

/* ---- Rows -------------------------------------------------------------------------------------------- */

/* Fewer successors that were not seen are drawn one by one. */
enum { FEW_UNSEEN = 24 };
/* Shorter rests of a stick are not broken further. */
static const double least_rest = 1e-9;

double nadir_distance_exponent(double norm)
{
    return isinf(norm) ? 1 : norm;
}

bool nadir_distance_powers_overflow(double norm)
{
    return norm > 32 && !isinf(norm); /* 1e-9, of 10^18 visits, to this power is 1e-288 */
}

int64_t nadir_posterior_draws_work_length(const nadir_posterior_draws *draws)
{
    int64_t most = 1;
    for (int64_t row = 0; row < draws->evidence->rows; row++) {
        most = draws->evidence->allowed[row] > most ? draws->evidence->allowed[row] : most;
    }
    return most + 1;
}

/* A row as the draws see it. */
typedef struct drawn_row {
    const double *counts; /* [seen] */
    int64_t seen, unseen;
    double each;
    double total; /* N + A */
    double norm;
} drawn_row;

/* What `count` places at this distance from their mean add. */
static double add_places(double power, double norm, double distance, double count)
{
    const double size = fabs(distance);
    return isinf(norm) ? (count > 0 && size > power ? size : power) : power + count * nadir_power(size, norm);
}

/* sum of |x_t / sum - m_t|^p, x: first those seen, then `pieces` of those not seen; in the other places it is
 * `elsewhere`. */
static double distance_power(const drawn_row *self, const double *x, int64_t pieces, double elsewhere,
                             double sum)
{
    double power = 0;
    const double unseen_mean = self->each / self->total;
    for (int64_t i = 0; i < self->seen; i++) {
        power = add_places(power, self->norm, x[i] / sum - (self->counts[i] + self->each) / self->total, 1);
    }
    for (int64_t i = self->seen; i < self->seen + pieces; i++) {
        power = add_places(power, self->norm, x[i] / sum - unseen_mean, 1);
    }
    return add_places(power, self->norm, elsewhere / sum - unseen_mean, (double)(self->unseen - pieces));
}

/* One kernel of the posterior. */
static double draw_posterior(const drawn_row *self, nadir_random *random, double *x)
{
    double sum = 0;
    int64_t pieces = self->unseen;
    for (int64_t i = 0; i < self->seen; i++) {
        x[i] = nadir_gamma_variate(random, self->counts[i] + self->each);
        sum += x[i];
    }
    if (self->unseen <= FEW_UNSEEN) {
        for (int64_t i = self->seen; i < self->seen + self->unseen; i++) {
            x[i] = nadir_gamma_variate(random, self->each);
            sum += x[i];
        }
    } else {
        double rest;
        const double all = nadir_gamma_variate(random, self->each * (double)self->unseen);
        pieces = nadir_stick_pieces(random, self->unseen, self->each, least_rest, &x[self->seen], &rest);
        for (int64_t i = self->seen; i < self->seen + pieces; i++) {
            x[i] *= all;
        }
        if (pieces < self->unseen) {
            x[self->seen + pieces++] = all * rest;
        }
        sum += all;
    }
    /* all variates below the smallest double: no two distributions are farther apart than this */
    return sum > 0 ? distance_power(self, x, pieces, 0, sum) : isinf(self->norm) ? 1 : 2;
}

/* What squares of distances are to be multiplied with so that, with the prior of weight A = 2, a true row P
 * is on average no farther from the mean than kernels of the posterior are, g = 1 - |P|_2^2 being estimated
 * from the data: the quotient of both, as docs/fit.md derives them, where it is above 1. That is so of rows
 * that are nearly certain and of few visits. Another prior is the user's, and so is its posterior. */
static double widening(const drawn_row *self)
{
    const double A = 2;
    const double successors = (double)(self->seen + self->unseen);
    const double N = self->total - A;
    const double G = 1 - 1 / successors;
    double squares = 0;
    if (fabs(self->each * successors - A) > 1e-9) {
        return 1;
    }
    for (int64_t i = 0; i < self->seen; i++) {
        squares += self->counts[i] / N * (self->counts[i] / N);
    }
    const double g = N > 1 && self->seen > 1 ? fmin(fmax(1 - squares, 0) * (N / (N - 1)), G) : 0;
    const double truth = (N * g + A * A * (G - g)) * ((N + A + 1) / N);
    const double posterior = (N - 1) * g + (2 * A + A * A / N) * G;
    return fmax(truth / posterior, 1);
}

/* Observations of successors that were not seen fall on each of them alike. Returns how many have any. */
static int64_t spread_unseen(const drawn_row *self, nadir_random *random, int64_t count, double *x)
{
    int64_t pieces = 0;
    for (int64_t i = 0; i < count; i++) {
        const int64_t place = (int64_t)nadir_random_below(random, (uint64_t)self->unseen);
        if (place >= pieces) { /* one that has none yet: they are all alike */
            x[pieces++] = self->each + 1;
        } else {
            x[place] += 1;
        }
    }
    return pieces;
}

/* One estimate from N - 1 observations of the nominal row. */
static double draw_bootstrap(const drawn_row *self, nadir_random *random, double visits, double *x)
{
    const int64_t observations = visits >= 2 ? (int64_t)fmin(visits, 0x1p52) - 1 : 1;
    const double sum = (double)observations + self->each * (double)(self->seen + self->unseen);
    int64_t left = observations;
    double mass = 1;
    for (int64_t i = 0; i < self->seen; i++) {
        const double share = (self->counts[i] + self->each) / self->total;
        const bool last = i + 1 == self->seen && self->unseen == 0;
        const int64_t got = last ? left : nadir_binomial_variate(random, left, fmin(share / mass, 1));
        x[i] = self->each + (double)got;
        left -= got;
        mass = fmax(mass - share, share * 0x1p-50);
    }
    const int64_t pieces = self->unseen > 0 ? spread_unseen(self, random, left, &x[self->seen]) : 0;
    return distance_power(self, x, pieces, self->each, sum);
}

/* The mean of M outcomes is off by 1/M of their variance, and each outcome is closer to it by as much than
 * the truth is: (M + 1) / (M - 1) makes up for both. */
static void measure_samples(const nadir_posterior_draws *draws, int64_t row, double *powers)
{
    const nadir_evidence *evidence = draws->evidence;
    const nadir_samples *samples = evidence->samples;
    const double outcomes = (double)samples->outcomes;
    const double wider = outcomes > 1 ? sqrt((outcomes + 1) / (outcomes - 1)) : 1;
    for (int64_t k = 0; k < draws->count; k++) {
        const double *outcome = &samples->probabilities[k * samples->nonzeros];
        powers[k] = 0;
        for (int64_t i = evidence->row_starts[row]; i < evidence->row_starts[row + 1]; i++) {
            powers[k] = add_places(powers[k], draws->norm, wider * (outcome[i] - evidence->mean[i]), 1);
        }
    }
}

void nadir_posterior_draws_row(const nadir_posterior_draws *draws, int64_t row, double *room, double *powers)
{
    const nadir_evidence *evidence = draws->evidence;
    if (evidence->kinds[row] != NADIR_ROW_DRAWN) {
        const double reach = evidence->kinds[row] == NADIR_ROW_KNOWN
                                 ? 0
                                 : nadir_evidence_reach(evidence->allowed[row], draws->norm);
        for (int64_t k = 0; k < draws->count; k++) {
            powers[k] = pow(reach, nadir_distance_exponent(draws->norm));
        }
        return;
    }
    if (evidence->samples != NULL) {
        measure_samples(draws, row, powers);
        return;
    }
    const drawn_row run = {.counts = &evidence->counts[evidence->row_starts[row]],
                           .seen = nadir_evidence_seen(evidence, row),
                           .unseen = nadir_evidence_unseen(evidence, row),
                           .each = evidence->each[row],
                           .total =
                               evidence->visits[row] + evidence->each[row] * (double)evidence->allowed[row],
                           .norm = draws->norm};
    const double wider = draws->bootstrap ? 1 : pow(widening(&run), nadir_distance_exponent(draws->norm) / 2);
    nadir_random random;
    nadir_random_seed(&random, draws->seed + (uint64_t)row);
    for (int64_t k = 0; k < draws->count; k++) {
        powers[k] = draws->bootstrap ? draw_bootstrap(&run, &random, evidence->visits[row], room)
                                     : wider * draw_posterior(&run, &random, room);
    }
}

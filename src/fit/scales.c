/*
 * scales.c: how much each row may move; see fit.h.
 *
 * A row that the policy does not reach has x = 0 and would get an infinite scale: to first order its change
 * costs nothing. But kernels of the ball and other policies may reach it. So x is at least a share of its mean.
 * That makes beta larger by at most about the root of 1 + that share, and bounds the ratio of scales.
 */
#include "fit/fit.h"

#include "fit/radii.h"
#include "linalg/gstd.h"
#include "linalg/vector.h"
#include "model/landing.h"
#include "solve/solver.h"

#include <math.h>
#include <string.h>

/* Least x, relative to its mean. */
static const double least_exposure = 0.01;
/* Least spread of the value over the successors of a row, relative to that over all states. */
static const double least_spread = 0.05;

/* (E|x|^p)^(1/p) of a normal x of variance 1. */
static double normal_moment(double norm)
{
    return sqrt(2) * exp((lgamma((norm + 1) / 2) - lgamma(0.5)) / norm);
}

/* The variances of the entries of a row, each to the power of p/2, summed; the largest at infinity. */
static double sum_variances(const nadir_evidence *evidence, double norm, int64_t row)
{
    const double total = evidence->visits[row] + evidence->each[row] * (double)evidence->allowed[row];
    const double unseen = (double)nadir_evidence_unseen(evidence, row);
    const double rare = evidence->each[row] / total;
    const double e = isinf(norm) ? 1 : norm / 2;
    double sum = nadir_power(rare * (1 - rare) / (total + 1), e);
    sum = isinf(norm) ? (unseen > 0 ? sum : 0) : unseen * sum;
    for (int64_t i = evidence->row_starts[row]; i < evidence->row_starts[row + 1]; i++) {
        const double mean = (evidence->counts[i] + evidence->each[row]) / total;
        const double term = nadir_power(mean * (1 - mean) / (total + 1), e);
        sum = isinf(norm) ? fmax(sum, term) : sum + term;
    }
    return sum;
}

/* The same of given samples. */
static double sum_sample_variances(const nadir_evidence *evidence, double norm, int64_t row)
{
    const nadir_samples *samples = evidence->samples;
    const double e = isinf(norm) ? 1 : norm / 2;
    double sum = 0;
    for (int64_t i = evidence->row_starts[row]; i < evidence->row_starts[row + 1]; i++) {
        double variance = 0;
        for (int64_t k = 0; k < samples->outcomes; k++) {
            const double change = samples->probabilities[k * samples->nonzeros + i] - evidence->mean[i];
            variance += change * change / (double)samples->outcomes;
        }
        const double term = nadir_power(variance, e);
        sum = isinf(norm) ? fmax(sum, term) : sum + term;
    }
    return sum;
}

void nadir_scales_deviation(const nadir_evidence *evidence, double norm, double *deviation)
{
    norm = nadir_distance_powers_overflow(norm) ? INFINITY : norm;
    for (int64_t row = 0; row < evidence->rows; row++) {
        if (evidence->kinds[row] == NADIR_ROW_KNOWN) {
            deviation[row] = 0;
        } else if (evidence->kinds[row] == NADIR_ROW_UNSEEN) {
            deviation[row] = nadir_evidence_reach(evidence->allowed[row], norm);
        } else {
            const double sum = evidence->samples != NULL ? sum_sample_variances(evidence, norm, row)
                                                         : sum_variances(evidence, norm, row);
            deviation[row] = isinf(norm) ? sqrt(sum) : normal_moment(norm) * pow(sum, 1 / norm);
        }
    }
}

void nadir_scales_make(const nadir_evidence *evidence, double norm, const double *deviation, const double *x,
                       double *alpha)
{
    const double q = nadir_holder_conjugate(norm);
    double exposure = 0;
    double unknown = 0;
    double sum = 0;
    for (int64_t row = 0; row < evidence->rows; row++) {
        if (evidence->kinds[row] != NADIR_ROW_KNOWN) {
            exposure += x != NULL ? x[row] : 1;
            unknown += 1;
        }
    }
    const double mean = unknown > 0 ? exposure / unknown : 0;
    for (int64_t row = 0; row < evidence->rows; row++) {
        const double share = x != NULL && mean > 0 ? fmax(x[row] / mean, least_exposure) : 1;
        alpha[row] =
            evidence->kinds[row] != NADIR_ROW_KNOWN ? pow(deviation[row], 1 / q) * pow(share, -1 / norm) : 0;
        sum += alpha[row];
    }
    for (int64_t row = 0; sum > 0 && row < evidence->rows; row++) {
        alpha[row] *= unknown / sum;
    }
}

/* What landing pays more than R(s, a) + g(s'), next to values. */
static double landing_term(const nadir_model *model, int64_t row, int32_t column)
{
    if (!nadir_landing_is_general(model) || !(model->discount > 0)) {
        return 0;
    }
    const nadir_row entries = nadir_model_row(model, row);
    const int64_t i =
        entries.columns != NULL ? nadir_find_column(entries.count, entries.columns, column) : column;
    return nadir_landing_e(model, row, nadir_landing_entry(model, row) + i, column) / model->discount;
}

/* sigma_q of the (shaped) value over the successors that were seen; least_spread of that over all states where it is
 * smaller, for a successor that was not seen is not impossible. */
static nadir_status find_spread(nadir_context *context, const nadir_evidence *evidence,
                                const nadir_model *model, double norm, int64_t row, const double *v,
                                double all, double *room, double *spread)
{
    const double q = nadir_holder_conjugate(norm);
    const int64_t seen = nadir_evidence_seen(evidence, row);
    const int64_t start = evidence->row_starts[row];
    nadir_gstd gstd = {0};
    nadir_status status = NADIR_OK;
    for (int64_t i = 0; i < seen; i++) {
        room[i] = v[evidence->columns[start + i]] + landing_term(model, row, evidence->columns[start + i]);
    }
    if (seen > 0) {
        status = nadir_gstd_compute(context, 0, seen, room, q, &room[evidence->states], NULL, &gstd);
    }
    *spread = seen > 0 ? fmax(gstd.sigma, least_spread * all) : all;
    return status;
}

nadir_status nadir_scales_exposure(nadir_context *context, const nadir_evidence *evidence,
                                   nadir_solver *solver, const nadir_policy *policy, double norm, bool spread,
                                   double *x)
{
    nadir_status status = NADIR_OK;
    const double *pi = nadir_policy_probabilities(policy);
    double *d = NULL;
    double *v = NULL;
    double *room = NULL;
    nadir_gstd all;
    NADIR_NEW(context, d, evidence->states);
    NADIR_NEW(context, v, evidence->states);
    NADIR_NEW(context, room, 2 * evidence->states);
    NADIR_CHECK(nadir_solver_occupancy(context, solver, d));
    NADIR_CHECK(nadir_solver_solve(context, solver));
    memcpy(v, solver->value.v, (size_t)evidence->states * sizeof *v);
    NADIR_CHECK(
        nadir_gstd_compute(context, 0, evidence->states, v, nadir_holder_conjugate(norm), room, NULL, &all));
    for (int64_t state = 0; state < evidence->states; state++) {
        for (int64_t row = evidence->state_rows[state]; row < evidence->state_rows[state + 1]; row++) {
            double sigma = 1;
            if (spread && evidence->kinds[row] != NADIR_ROW_KNOWN) {
                NADIR_CHECK(
                    find_spread(context, evidence, solver->model, norm, row, v, all.sigma, room, &sigma));
            }
            x[row] = fmax(d[state], 0) * pi[row] * sigma;
        }
    }
cleanup:
    NADIR_RELEASE(context, d, v, room);
    return status;
}

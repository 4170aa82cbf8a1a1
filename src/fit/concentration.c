/*
 * concentration.c: radii that hold for every true kernel; see radii.h.
 *
 * With f the observed frequencies of N visits, K successors, u uniform and w = N / (N + A), the nominal row
 * is m = w f + (1 - w) u, so |m - P| <= w |f - P| + (1 - w) |u - P|, and |u - P| <= reach = |u - e_1|.
 * Z = |(w (f - P) / alpha)|_p over all rows is a supremum of sums of independent terms, one for each visit.
 * Mean: E|f - P|_2^2 <= (1 - 1/K)/N. For p <= 2, E|f - P|_p^p <= (K^(1/p - 1/2) sqrt((1 - 1/K)/N))^p and
 * E Z <= (E Z^p)^(1/p); for p > 2, |.|_p <= |.|_2. A term is at most c = 2^(1/p) w / (N alpha), |e_i - e_j|_p
 * being 2^(1/p). The variance of a sum, y of norm 1 in the dual norm, is at most N c^2/4 |y_sa|_q^2 for each
 * row: together the largest N c^2/4 (q <= 2), or the q/(q-2)-norm of them (q > 2).
 * McDiarmid (1989): Z <= E Z + sqrt(ln(1/risk)/2 sum of N c^2), and Klein and Rio (2005): Z <= E Z + t with
 * t^2 = ln(1/risk) (2 (V + 2 b E Z) + 3 b t), b the largest c; each but for the risk. Which of them is
 * smaller depends on N and K alone, so the smaller may be taken.
 */
#include "fit/radii.h"

#include "linalg/vector.h"

#include <math.h>

/* (sum of x^e)^(1/e) in the making: relative to the largest x, for x^e may be beyond all doubles. */
typedef struct power_sum {
    double largest;
    double relative; /* sum of (x / largest)^e */
} power_sum;

static void add_power(power_sum *sum, double x, double e)
{
    if (x > sum->largest) {
        sum->relative = sum->relative * pow(sum->largest / x, e) + 1;
        sum->largest = x;
    } else if (x > 0) {
        sum->relative += pow(x / sum->largest, e);
    }
}

static double power_root(power_sum sum, double e)
{
    return isinf(e) || !(sum.largest > 0) ? sum.largest : sum.largest * pow(sum.relative, 1 / e);
}

static double mean_of(const nadir_evidence *evidence, double norm, int64_t row)
{
    const double successors = (double)evidence->allowed[row];
    return pow(successors, fmax(1 / norm - 0.5, 0)) * sqrt((1 - 1 / successors) / evidence->visits[row]);
}

/* The weight of the data in the mean of a row. */
static double weight_of(const nadir_evidence *evidence, int64_t row)
{
    const double visits = evidence->visits[row];
    return visits > 0 ? visits / (visits + evidence->each[row] * (double)evidence->allowed[row]) : 0;
}

double nadir_concentration_deviation(const nadir_evidence *evidence, double norm, int64_t row)
{
    const double w = weight_of(evidence, row);
    const double reach = nadir_evidence_reach(evidence->allowed[row], norm);
    return evidence->kinds[row] == NADIR_ROW_KNOWN
               ? 0
               : fmin(w > 0 ? w * mean_of(evidence, norm, row) + (1 - w) * reach : reach, pow(2, 1 / norm));
}

/* Of the rows together, as in the head of this file. */
typedef struct moments {
    power_sum mean;     /* of E|w (f - P) / alpha| */
    power_sum bias;     /* of (1 - w) reach / alpha */
    power_sum variance; /* of N c^2/4 */
    power_sum farthest; /* of 2^(1/p) / alpha: no two kernels are farther apart */
    double squares;     /* sum of N c^2 */
    double largest;     /* c */
} moments;

static void add_row(const nadir_evidence *evidence, double norm, int64_t row, double alpha, moments *sum)
{
    const double q = nadir_holder_conjugate(norm);
    const double w = weight_of(evidence, row);
    const double widest = pow(2, 1 / norm);
    const double reach = nadir_evidence_reach(evidence->allowed[row], norm);
    add_power(&sum->bias, (1 - w) * reach / alpha, norm);
    add_power(&sum->farthest, (w > 0 ? widest : reach) / alpha, norm);
    if (w > 0) {
        const double visits = evidence->visits[row];
        const double c = w * widest / (visits * alpha);
        add_power(&sum->mean, w * mean_of(evidence, norm, row) / alpha, fmin(norm, 2));
        sum->squares += visits * c * c;
        sum->largest = fmax(sum->largest, c);
        add_power(&sum->variance, visits * c * c / 4, q > 2 ? 1 / (1 - 2 / q) : INFINITY);
    }
}

double nadir_concentration_radius(const nadir_evidence *evidence, double norm, int64_t first, int64_t end,
                                  const double *scales, double risk)
{
    const double q = nadir_holder_conjugate(norm);
    const double x = log(1 / risk);
    moments run = {0};
    for (int64_t row = first; row < end; row++) {
        const double alpha = scales != NULL ? scales[row] : 1;
        if (evidence->kinds[row] != NADIR_ROW_KNOWN && alpha > 0) {
            add_row(evidence, norm, row, alpha, &run);
        }
    }
    const double mean = power_root(run.mean, fmin(norm, 2));
    const double variance = power_root(run.variance, q > 2 ? 1 / (1 - 2 / q) : INFINITY);
    const double b = run.largest;
    const double differences = sqrt(x / 2 * run.squares);
    const double suprema = (3 * b * x + sqrt(9 * b * b * x * x + 8 * x * (variance + 2 * b * mean))) / 2;
    const double radius = mean + fmin(differences, suprema) + power_root(run.bias, norm);
    return fmin(radius, power_root(run.farthest, norm)) * (1 + 1e-12);
}

double nadir_concentration_gather(const nadir_evidence *evidence, double norm, const double *scales,
                                  const double *row_radii)
{
    power_sum sum = {0};
    for (int64_t row = 0; row < evidence->rows; row++) {
        if (evidence->kinds[row] != NADIR_ROW_KNOWN && scales[row] > 0) {
            add_power(&sum, row_radii[row] / scales[row], norm);
        }
    }
    return power_root(sum, norm) * (1 + 1e-12);
}

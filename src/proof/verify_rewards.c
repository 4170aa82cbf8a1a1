/*
 * verify_rewards.c: what kernels of distributions return at least and at most, for verification alone; the
 * evaluation has its own (reward_bound.c), which adds up what its roundings can amount to.
 *
 * With rho(s) = sum over a of pi(a|s), a constant w that has w <= R^pi(s) + gamma rho(s) w in every state has
 * w <= Tw under every kernel of distributions; T is monotone and, where gamma rho < 1, contracts, so that
 * V >= w. The largest such w gives
 *
 *     J = mu . V >= |mu|_1 w,      w = min over s of R^pi(s) / (1 - gamma rho(s)).
 *
 * Operations are rounded one by one to the side that is safe, where they are not exact: two-sum and fma tell.
 */
#include "proof/verify.h"

#include <float.h>
#include <math.h>

/* Remainders of products and quotients below this may underflow, and tell nothing. */
#define REMAINDER_LEAST 0x1p-900

/* At most x + error, which is no number beside it; NaN: not known. */
static double round_down(double x, double error)
{
    return error >= 0 ? x : nextafter(x, -INFINITY);
}

static double round_up(double x, double error)
{
    return error <= 0 ? x : nextafter(x, INFINITY);
}

/* a + b - sum, exactly. */
static double sum_error(double a, double b, double sum)
{
    const double other = sum - a;
    return (a - (sum - other)) + (b - other);
}

static double add_down(double a, double b)
{
    return round_down(a + b, sum_error(a, b, a + b));
}

static double add_up(double a, double b)
{
    return round_up(a + b, sum_error(a, b, a + b));
}

/* The sign of a b - product. */
static double product_error(double a, double b, double product)
{
    return a == 0 || b == 0 ? 0 : fabs(product) < REMAINDER_LEAST ? NAN : fma(a, b, -product);
}

static double multiply_down(double a, double b)
{
    return round_down(a * b, product_error(a, b, a * b));
}

static double multiply_up(double a, double b)
{
    return round_up(a * b, product_error(a, b, a * b));
}

/* 0 < b <= 1, about. */
static double divide_down(double a, double b)
{
    const double error = a == 0 ? 0 : fabs(a) < REMAINDER_LEAST ? NAN : fma(-(a / b), b, a);
    return round_down(a / b, error);
}

/* The range of 1 - gamma rho(s). rho is kept as a sum and what its roundings left of it, as is the product
 * with gamma: next to gamma = 1 the difference is exact, and the rest is small beside it. Rows sum to one but
 * for `stray`. */
static void find_gap(const nadir_problem *problem, int64_t s, double stray, double *low, double *high)
{
    const int64_t *state_rows = problem->model->state_rows;
    double rho = 0;
    double rest_low = 0;
    double rest_high = 0;
    for (int64_t row = state_rows[s]; row < state_rows[s + 1]; row++) {
        const double pi = problem->policy->probabilities[row];
        const double error = sum_error(rho, pi, rho + pi);
        rho += pi;
        rest_low = add_down(rest_low, error);
        rest_high = add_up(rest_high, error);
    }
    const double gamma = problem->gamma;
    const double error = product_error(gamma, rho, gamma * rho);
    const double least = isnan(error) ? -DBL_TRUE_MIN : error;
    const double most = isnan(error) ? DBL_TRUE_MIN : error;
    const double off = multiply_up(stray, multiply_up(gamma, add_up(rho, rest_high)));
    *low = add_down(add_down(1, -(gamma * rho)), -add_up(most, multiply_up(gamma, rest_high)));
    *high = add_up(add_up(1, -(gamma * rho)), -add_down(least, multiply_down(gamma, rest_low)));
    *low = add_down(*low, -off);
    *high = add_up(*high, off);
}

/* At most R^pi(s) / (1 - gamma rho(s)), of rewards times sign; -infinity: nothing is known. */
static double least_of_state(const nadir_problem *problem, double sign, double stray, int64_t s)
{
    const int64_t *state_rows = problem->model->state_rows;
    double reward = 0;
    double gap_low;
    double gap_high;
    for (int64_t row = state_rows[s]; row < state_rows[s + 1]; row++) {
        const double pi = problem->policy->probabilities[row];
        reward = add_down(reward, multiply_down(pi, sign * problem->rewards[row]));
    }
    find_gap(problem, s, stray, &gap_low, &gap_high);
    const double least = divide_down(reward, reward >= 0 ? gap_high : gap_low);
    return gap_low > 0 && !isnan(least) ? least : -INFINITY;
}

static double least_return(const nadir_problem *problem, double sign, double stray)
{
    double w = INFINITY;
    double mass_low = 0;
    double mass_high = 0;
    for (int64_t s = 0; s < problem->states; s++) {
        w = fmin(w, least_of_state(problem, sign, stray, s));
        mass_low = add_down(mass_low, problem->mu[s]);
        mass_high = add_up(mass_high, problem->mu[s]);
    }
    return multiply_down(w, w >= 0 ? mass_low : mass_high);
}

void nadir_verify_rewards(const nadir_problem *problem, double stray, double *lower, double *upper)
{
    *lower = least_return(problem, 1, stray);
    *upper = -least_return(problem, -1, stray);
}

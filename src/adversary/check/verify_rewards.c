/*
 * verify_rewards.c: what kernels of distributions return at least and at most, for verification alone; the
 * evaluation has its own (reward_bound.c), which sums occupancies.
 *
 * With rho(s) = sum over a of pi(a|s), a constant w that has w <= R^pi(s) + gamma rho(s) w in every state has
 * w <= Tw under every kernel of distributions; T is monotone and, where gamma rho < 1, contracts, so that
 * V >= w. The largest such w gives
 *
 *     J = mu . V >= |mu|_1 w,      w = min over s of R^pi(s) / (1 - gamma rho(s)).
 *
 * Operations are rounded one by one to the side that is safe, where they are not exact: two-sum and fma tell.
 */
#include "adversary/check/verify.h"

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

/* At most R^pi(s) / (1 - gamma rho(s)), of rewards times sign; -infinity: nothing is known. */
static double least_of_state(const nadir_problem *problem, double sign, int64_t s)
{
    const int64_t *state_rows = problem->model->state_rows;
    double reward = 0;
    double rho_low = 0;
    double rho_high = 0;
    for (int64_t row = state_rows[s]; row < state_rows[s + 1]; row++) {
        const double pi = problem->policy->probabilities[row];
        reward = add_down(reward, multiply_down(pi, sign * problem->rewards[row]));
        rho_low = add_down(rho_low, pi);
        rho_high = add_up(rho_high, pi);
    }
    const double gap_low = add_down(1, -multiply_up(problem->gamma, rho_high));
    const double gap_high = add_up(1, -multiply_down(problem->gamma, rho_low));
    const double least = divide_down(reward, reward >= 0 ? gap_high : gap_low);
    return gap_low > 0 && !isnan(least) ? least : -INFINITY;
}

static double least_return(const nadir_problem *problem, double sign)
{
    double w = INFINITY;
    double mass_low = 0;
    double mass_high = 0;
    for (int64_t s = 0; s < problem->states; s++) {
        w = fmin(w, least_of_state(problem, sign, s));
        mass_low = add_down(mass_low, problem->mu[s]);
        mass_high = add_up(mass_high, problem->mu[s]);
    }
    return multiply_down(w, w >= 0 ? mass_low : mass_high);
}

void nadir_verify_rewards(const nadir_problem *problem, double *lower, double *upper)
{
    *lower = least_return(problem, 1);
    *upper = -least_return(problem, -1);
}

/*
 * reward_bound.c: what kernels of distributions return at least and at most; see reward_bound.h.
 *
 * Where the actions of state s have the probability rho(s) in all, which is one but for rounding, constants w
 * with w >= R^pi(s) + gamma rho(s) w in every state have w >= Tw whatever the kernel, so that J_P <= |mu|_1
 * w:
 *
 *     w = max over s of R^pi(s) / (1 - gamma rho(s)).
 *
 * Next to gamma = 1 the gap 1 - gamma rho takes rho and the product in twice the precision: 1 - (gamma rho)
 * is exact, and what their rounding left is subtracted from it. What rows of the model sum to, as they are
 * stored, is one but for rounding as well; that is part of how far the gap may be off.
 */
#include "proof/bellman_bound.h"

#include "linalg/distributed.h"

#include <float.h>
#include <math.h>

#define UNIT (DBL_EPSILON / 2)

/* At least x, of which `units` roundings are not known; what is below all numbers is below the least. */
static double raise(double x, double units)
{
    const double least = fmax(x, -DBL_MAX);
    return isnan(x) ? INFINITY : least + units * UNIT * fabs(least) + DBL_TRUE_MIN;
}

/* 1 - gamma rho of a state, and how far it may be off. stray: the sum of a row less one, at most. */
static double find_gap(const nadir_problem *problem, int64_t s, double stray, double *off)
{
    const int64_t *state_rows = problem->model->state_rows;
    const double terms = (double)(state_rows[s + 1] - state_rows[s] + 2);
    double rho = 0;
    double rest = 0; /* what rho lacks */
    for (int64_t row = state_rows[s]; row < state_rows[s + 1]; row++) {
        const double pi = problem->policy->probabilities[row];
        const double sum = rho + pi;
        rest += rho >= pi ? (rho - sum) + pi : (pi - sum) + rho;
        rho = sum;
    }
    const double product = problem->gamma * rho;
    const double lacks = fma(problem->gamma, rho, -product) + problem->gamma * rest;
    const double gap = (1 - product) - lacks;
    *off =
        4 * UNIT * fabs(gap) + 8 * terms * UNIT * terms * UNIT + product * (1 + terms * DBL_EPSILON) * stray;
    return gap;
}

/* At least R^pi(s) / (1 - gamma rho(s)), rewards times sign. */
static double most_of_state(const nadir_problem *problem, int64_t s, double stray, double sign)
{
    const nadir_model *model = problem->model;
    const double terms = (double)(model->state_rows[s + 1] - model->state_rows[s] + 2);
    double off;
    double sum = 0;
    double size = 0;
    for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
        const double term = problem->policy->probabilities[row] * (sign * problem->rewards[row]);
        sum += term;
        size += fabs(term);
    }
    /* what underflows is off by less than the least number */
    const double error = terms * (UNIT * size * (1 + 4 * terms * UNIT) + DBL_TRUE_MIN) + UNIT * fabs(sum);
    const double reward = sum + 2 * error;
    const double gap = find_gap(problem, s, stray, &off);
    return gap > off ? raise(reward / (reward > 0 ? gap - off : gap + off), 8) : INFINITY;
}

static double most_return(const nadir_context *context, const nadir_problem *problem, double sign)
{
    const nadir_row_limits *limits = &problem->model->limits;
    const double stray = fmax(fabs(1 - limits->sum_low), fabs(limits->sum_high - 1)) * (1 + 8 * DBL_EPSILON);
    double w = -INFINITY;
    double mass = 0;
    for (int64_t s = 0; s < problem->states; s++) {
        w = fmax(w, most_of_state(problem, s, stray, sign));
        mass += problem->mu[s];
    }
    w = nadir_allreduce_maximum(context, w);
    mass = nadir_allreduce_sum(context, mass);
    const double spread = UNIT * (double)(nadir_model_total(problem->model) + 4);
    return raise(w * (mass * (w > 0 ? 1 + spread : 1 - spread)), 8);
}

void nadir_reward_bounds(const nadir_context *context, const nadir_problem *problem, double *lower,
                         double *upper)
{
    *lower = -most_return(context, problem, -1);
    *upper = most_return(context, problem, 1);
}

bool nadir_rewards_underflow(const nadir_context *context, const nadir_problem *problem)
{
    const double largest = nadir_global_largest(context, problem->rows, problem->rewards);
    return largest > 0 && largest < NADIR_REWARD_LEAST;
}

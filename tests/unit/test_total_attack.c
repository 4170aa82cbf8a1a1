/*
 * test_total_attack.c: bounds without a discount, attacked. Small random processes that end, every set, domain and
 * norm; kernels of the ball are drawn at random and improved by chance, and evaluated by elimination: none returns less
 * than the lower bound, lasts longer than the bound on durations, or never ends below the trap radius.
 */
#include "support/support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 6, ROWS = 2 * MOST };
#define SEED 161803

/* States 0 .. n - 2 have one or two actions; n - 1 ends. */
typedef struct process {
    int n, rows;
    int64_t first[MOST + 1];
    double P[ROWS][MOST], R[ROWS], alpha[ROWS], pi[ROWS], mu[MOST];
    nadir_set set;
    nadir_domain domain;
    double norm, radius;
} process;

static void draw(nadir_random *random, process *made)
{
    static const double norms[] = {1, 1.5, 2, 2, 2, 3, INFINITY};
    *made = (process){.n = 2 + (int)(nadir_random_uniform(random) * 4)};
    double mass = 0;
    for (int s = 0; s < made->n; s++) {
        const bool ends = s == made->n - 1;
        const int actions = ends ? 1 : 1 + (nadir_random_uniform(random) < 0.4);
        double sum = 0;
        made->mu[s] = ends ? 0 : nadir_random_uniform(random) < 0.6 ? nadir_random_uniform(random) : 0;
        mass += made->mu[s];
        for (int a = 0; a < actions; a++) {
            const int row = made->rows++;
            double total = 0;
            for (int t = 0; t < made->n; t++) {
                made->P[row][t] = ends                                 ? t == s
                                  : nadir_random_uniform(random) < 0.5 ? nadir_random_uniform(random)
                                                                       : 0;
            }
            made->P[row][made->n - 1] += ends ? 0 : 0.02 + 0.5 * nadir_random_uniform(random);
            for (int t = 0; t < made->n; t++) {
                total += made->P[row][t];
            }
            for (int t = 0; t < made->n; t++) {
                made->P[row][t] /= total;
            }
            made->R[row] = ends ? 0 : 2 * nadir_random_uniform(random) - 1;
            made->alpha[row] = nadir_random_uniform(random) < 0.15  ? 0
                               : nadir_random_uniform(random) < 0.5 ? 1
                                                                    : 0.5 + nadir_random_uniform(random);
            made->pi[row] = 0.1 + nadir_random_uniform(random);
            sum += made->pi[row];
        }
        for (int row = made->rows - actions; row < made->rows; row++) {
            made->pi[row] /= sum;
        }
        made->first[s + 1] = made->rows;
    }
    for (int s = 0; s < made->n; s++) {
        made->mu[s] = mass > 0 ? made->mu[s] / mass : s == 0;
    }
    made->set = (nadir_set)(NADIR_SET_NONRECT + (int)(nadir_random_uniform(random) * 3));
    made->domain = nadir_random_uniform(random) < 0.5 ? NADIR_DOMAIN_SUPPORT : NADIR_DOMAIN_SIMPLEX;
    made->norm = norms[(int)(nadir_random_uniform(random) * 7)];
    made->radius = 0.6 * pow(nadir_random_uniform(random), 2);
}

/* mu . x and max x for (I - P^pi) x = b on the states that do not end; false: it has no solution >= 0 for b = 1. */
static bool solve(const process *of, double P[ROWS][MOST], bool steps, double *mean)
{
    const int m = of->n - 1;
    double A[MOST][MOST + 1] = {{0}};
    for (int s = 0; s < m; s++) {
        for (int64_t row = of->first[s]; row < of->first[s + 1]; row++) {
            for (int t = 0; t < m; t++) {
                A[s][t] -= of->pi[row] * P[row][t];
            }
            A[s][m] += of->pi[row] * (steps ? 1 : of->R[row]);
        }
        A[s][s] += 1;
    }
    for (int k = 0; k < m; k++) {
        int pivot = k;
        for (int s = k + 1; s < m; s++) {
            pivot = fabs(A[s][k]) > fabs(A[pivot][k]) ? s : pivot;
        }
        if (fabs(A[pivot][k]) < 1e-13) {
            return false;
        }
        for (int t = 0; t <= m; t++) {
            const double swap = A[k][t];
            A[k][t] = A[pivot][t];
            A[pivot][t] = swap;
        }
        for (int s = 0; s < m; s++) {
            const double factor = s == k ? 0 : A[s][k] / A[k][k];
            for (int t = 0; t <= m; t++) {
                A[s][t] -= factor * A[k][t];
            }
        }
    }
    *mean = 0;
    for (int s = 0; s < m; s++) {
        const double x = A[s][m] / A[s][s];
        *mean += of->mu[s] * x;
        if (steps && !(x > 0)) {
            return false;
        }
    }
    return true;
}

/* The share of its ball that a group of rows uses, at most 1 in the set. */
static double share_of(const process *of, double P[ROWS][MOST])
{
    double whole = 0;
    double most = 0;
    for (int s = 0; s + 1 < of->n; s++) {
        double state = 0;
        for (int64_t row = of->first[s]; row < of->first[s + 1]; row++) {
            double sum = 0;
            for (int t = 0; t < of->n; t++) {
                const double change = fabs(P[row][t] - of->P[row][t]);
                sum = isinf(of->norm) ? fmax(sum, change) : sum + pow(change, of->norm);
            }
            const double own =
                (isinf(of->norm) ? sum : pow(sum, 1 / of->norm)) / (of->alpha[row] * of->radius);
            const double part = sum == 0 ? 0 : own;
            if (of->set == NADIR_SET_SA || isinf(of->norm)) {
                most = fmax(most, part);
            } else {
                state += pow(part, of->norm);
            }
        }
        most = fmax(most, isinf(of->norm) ? 0 : pow(state, 1 / of->norm));
        whole += state;
    }
    return of->set == NADIR_SET_NONRECT && !isinf(of->norm) ? pow(whole, 1 / of->norm) : most;
}

/* Moves mass in some rows that may move, at random, and back towards the nominal kernel until it is in the set. */
static void mutate(nadir_random *random, const process *of, double P[ROWS][MOST])
{
    const double size = pow(nadir_random_uniform(random), 3);
    for (int row = 0; row < of->first[of->n - 1]; row++) {
        if (of->alpha[row] == 0 || nadir_random_uniform(random) < 0.4) {
            continue;
        }
        const int from = (int)(nadir_random_uniform(random) * of->n);
        const int to = (int)(nadir_random_uniform(random) * of->n);
        if (of->domain == NADIR_DOMAIN_SIMPLEX || of->P[row][to] > 0) {
            const double moved = fmin(P[row][from], size * nadir_random_uniform(random));
            P[row][from] -= moved;
            P[row][to] += moved;
        }
    }
    const double share = share_of(of, P);
    for (int row = 0; share > 1 && row < of->rows; row++) {
        for (int t = 0; t < of->n; t++) {
            P[row][t] = of->P[row][t] + (P[row][t] - of->P[row][t]) / (share * (1 + 1e-12));
        }
    }
}

/* The least return, or with steps the longest duration, that chance finds. */
static double attack(nadir_random *random, const process *of, bool steps, bool *ends)
{
    double best[ROWS][MOST];
    double found;
    *ends = true;
    memcpy(best, of->P, sizeof best);
    assert_true(solve(of, best, steps, &found));
    for (int i = 0; i < 400; i++) {
        double next[ROWS][MOST];
        double J;
        double length;
        memcpy(next, best, sizeof next);
        mutate(random, of, next);
        if (!solve(of, next, true, &length) || !solve(of, next, steps, &J)) {
            *ends = false;
            return found;
        }
        if (steps ? J > found : J < found) {
            found = J;
            memcpy(best, next, sizeof best);
        }
    }
    return found;
}

static void test_attack(void **state)
{
    nadir_context *context = *state;
    nadir_random random;
    int proven = 0;
    int certified = 0;
    nadir_random_seed(&random, SEED);
    for (int i = 0; i < test_attack_count(300); i++) {
        process made;
        nadir_model *model = NULL;
        nadir_policy *policy = NULL;
        nadir_solver *solver = NULL;
        nadir_model_data data;
        nadir_ball ball;
        nadir_robust result = {.size = sizeof result};
        double dense[ROWS * MOST];
        bool ends;
        draw(&random, &made);
        test_note("process %d of seed %d", i, SEED);
        for (int row = 0; row < made.rows; row++) {
            memcpy(dense + row * made.n, made.P[row], (size_t)made.n * sizeof *dense);
        }
        nadir_model_data_default(&data);
        data.states = made.n;
        data.rows = made.rows;
        data.discount = 1;
        data.total = true;
        data.state_rows = made.first;
        data.dense = dense;
        data.rewards = made.R;
        data.initial = made.mu;
        data.scales = made.alpha;
        assert_ok(context, nadir_model_create(context, &data, &model));
        assert_ok(context, nadir_policy_create(context, model, made.pi, &policy));
        assert_ok(context, nadir_solver_create(context, model, policy, NULL, &solver));
        nadir_ball_default(&ball);
        ball.set = made.set;
        ball.domain = made.domain;
        ball.norm = made.norm;
        ball.radius = &made.radius;
        ball.radius_count = 1;
        const nadir_status status = nadir_solver_robust(context, solver, &ball, NULL, &result, NULL);
        if (status == NADIR_OK) {
            const double scale = 1e-9 * (1 + fabs(result.lower_bound));
            proven++;
            certified += result.certified;
            assert_true(attack(&random, &made, false, &ends) >= result.lower_bound - scale);
            assert_true(ends && result.robust_return >= result.lower_bound - scale);
            assert_true(attack(&random, &made, true, &ends) <= result.duration_bound * (1 + 1e-9));
            assert_true(ends);
            assert_true(made.radius < result.trap_radius_high || made.set == NADIR_SET_NONRECT);
        } else {
            assert_int_equal(status, NADIR_ERROR_ILL_POSED);
        }
        nadir_solver_free(solver);
        nadir_policy_free(policy);
        nadir_model_free(model);
    }
    print_message("%d proven, %d of them certified\n", proven, certified);
    assert_true(test_attack_count(300) < 100 || certified > test_attack_count(300) / 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {test_with_context(test_attack)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* ending.c: small processes that end; see ending.h. */
#include "support/ending.h"

#include "support/support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void test_ending_find_reached(test_ending *of)
{
    for (int s = 0; s < of->n; s++) {
        of->reached[s] = of->mu[s] > 0;
    }
    for (int i = 0; i < of->n * of->m; i++) {
        const int s = i % of->m;
        for (int64_t row = of->first[s]; of->reached[s] && row < of->first[s + 1]; row++) {
            for (int t = 0; t < of->n; t++) {
                of->reached[t] = of->reached[t] || of->P[row][t] > 0 ||
                                 (of->domain != NADIR_DOMAIN_SUPPORT && of->alpha[row] > 0);
            }
        }
    }
}

void test_ending_draw(nadir_random *random, test_ending_kind of, test_ending *made)
{
    static const double norms[] = {1, 1.5, 2, 2, 2, 3, INFINITY};
    double g[TEST_ENDING_STATES];
    *made = (test_ending){.n = 2 + (int)(nadir_random_uniform(random) * 4), .kind = of};
    made->n += made->kind == TEST_ENDING_REACH;
    made->m = made->n - (made->kind == TEST_ENDING_REACH ? 2 : 1);
    const bool separable = nadir_random_uniform(random) < 0.5;
    double mass = 0;
    for (int t = 0; t < made->n; t++) {
        g[t] = nadir_random_uniform(random) - 0.5;
    }
    for (int s = 0; s < made->n; s++) {
        const bool ends = s >= made->m;
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
            for (int t = 0; t < made->n; t++) {
                const double own = separable ? g[t] : nadir_random_uniform(random) - 0.5;
                made->r[row][t] = made->kind == TEST_ENDING_TOTAL     ? made->R[row]
                                  : made->kind == TEST_ENDING_LANDING ? (ends ? 0 : made->R[row] + own)
                                                                      : t == made->n - 1;
            }
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
        made->mu[s] = made->kind == TEST_ENDING_REACH ? 1.0 / made->n
                      : mass > 0                      ? made->mu[s] / mass
                                                      : s == 0;
    }
    made->set = (nadir_set)(NADIR_SET_NONRECT + (int)(nadir_random_uniform(random) * 3));
    made->domain = nadir_random_uniform(random) < 0.5 ? NADIR_DOMAIN_SUPPORT : NADIR_DOMAIN_SIMPLEX;
    made->norm = norms[(int)(nadir_random_uniform(random) * 7)];
    made->radius = 1.2 * pow(nadir_random_uniform(random), 2);
    test_ending_find_reached(made);
}

/* mu . x and max x for (I - P^pi) x = b on the states that do not end; false: it has no solution >= 0 for b = 1. */
bool test_ending_solve(const test_ending *of, double P[TEST_ENDING_ROWS][TEST_ENDING_STATES], bool steps,
                       double *mean)
{
    const int m = of->m;
    double A[TEST_ENDING_STATES][TEST_ENDING_STATES + 1] = {{0}};
    for (int s = 0; s < m; s++) {
        A[s][m] = of->reached[s] ? 0 : 1;
        for (int64_t row = of->first[s]; of->reached[s] && row < of->first[s + 1]; row++) {
            for (int t = 0; t < m; t++) {
                A[s][t] -= of->pi[row] * P[row][t];
            }
            for (int t = 0; t < of->n; t++) {
                A[s][m] += of->pi[row] * P[row][t] * (steps ? 1 : of->r[row][t]);
            }
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
    *mean = of->kind == TEST_ENDING_REACH && !steps ? of->mu[of->n - 1] : 0;
    for (int s = 0; s < m; s++) {
        const double x = A[s][m] / A[s][s];
        *mean += of->mu[s] * x;
        if (steps && !(x > 0)) {
            return false;
        }
    }
    return true;
}

double test_ending_share(const test_ending *of, double P[TEST_ENDING_ROWS][TEST_ENDING_STATES])
{
    double whole = 0;
    double most = 0;
    for (int s = 0; s < of->m; s++) {
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
void test_ending_mutate(nadir_random *random, const test_ending *of,
                        double P[TEST_ENDING_ROWS][TEST_ENDING_STATES])
{
    const double size = pow(nadir_random_uniform(random), 3);
    for (int row = 0; row < of->first[of->m]; row++) {
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
    const double share = test_ending_share(of, P);
    for (int row = 0; share > 1 && row < of->rows; row++) {
        for (int t = 0; t < of->n; t++) {
            P[row][t] = of->P[row][t] + (P[row][t] - of->P[row][t]) / (share * (1 + 1e-12));
        }
    }
}

/* The least return, or with steps the longest duration, that chance finds. */
double test_ending_attack(nadir_random *random, const test_ending *of, bool steps, bool *ends)
{
    double best[TEST_ENDING_ROWS][TEST_ENDING_STATES];
    double found;
    *ends = true;
    memcpy(best, of->P, sizeof best);
    assert_true(test_ending_solve(of, best, steps, &found));
    for (int i = 0; i < 400; i++) {
        double next[TEST_ENDING_ROWS][TEST_ENDING_STATES];
        double J;
        double length;
        memcpy(next, best, sizeof next);
        test_ending_mutate(random, of, next);
        if (!test_ending_solve(of, next, true, &length) || !test_ending_solve(of, next, steps, &J)) {
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

/* A model with these numbers; one that reaches a goal comes from a file. */
static nadir_model *make_model(nadir_context *context, const test_ending *of)
{
    nadir_model *model = NULL;
    nadir_model_data data;
    double dense[TEST_ENDING_ROWS * TEST_ENDING_STATES];
    double landing[TEST_ENDING_ROWS * TEST_ENDING_STATES];
    if (of->kind == TEST_ENDING_REACH) {
        nadir_read_settings settings;
        char goal[32];
        FILE *file = fopen("attack.csv", "w");
        assert_non_null(file);
        assert_true(fputs("idstatefrom,idaction,idstateto,probability,reward\n", file) >= 0);
        for (int s = 0; s < of->n; s++) {
            for (int64_t row = of->first[s]; row < of->first[s + 1]; row++) {
                for (int t = 0; t < of->n; t++) {
                    assert_true(fprintf(file, "%d,%d,%d,%.17g,0\n", s, (int)(row - of->first[s]), t,
                                        of->P[row][t]) > 0);
                }
            }
        }
        assert_int_equal(fclose(file), 0);
        nadir_read_settings_default(&settings);
        (void)snprintf(goal, sizeof goal, "%d", of->n - 1);
        settings.goal = goal;
        assert_ok(context, nadir_model_read(context, "attack.csv", &settings, &model));
        return model;
    }
    for (int row = 0; row < of->rows; row++) {
        memcpy(dense + row * of->n, of->P[row], (size_t)of->n * sizeof *dense);
        memcpy(landing + row * of->n, of->r[row], (size_t)of->n * sizeof *landing);
    }
    nadir_model_data_default(&data);
    data.states = of->n;
    data.rows = of->rows;
    data.discount = 1;
    data.total = true;
    data.state_rows = of->first;
    data.dense = dense;
    data.rewards = of->kind == TEST_ENDING_TOTAL ? of->R : NULL;
    data.transition_rewards = of->kind == TEST_ENDING_LANDING ? landing : NULL;
    data.initial = of->mu;
    assert_ok(context, nadir_model_create(context, &data, &model));
    return model;
}

void test_ending_ask(nadir_context *context, const test_ending *made, test_ending_asked *to)
{
    *to = (test_ending_asked){.model = make_model(context, made)};
    assert_ok(context, nadir_policy_create(context, to->model, made->pi, &to->policy));
    assert_ok(context, nadir_solver_create(context, to->model, to->policy, NULL, &to->solver));
    nadir_ball_default(&to->ball);
    to->ball.set = made->set;
    to->ball.domain = made->domain;
    to->ball.norm = made->norm;
    to->ball.radius = &made->radius;
    to->ball.radius_count = 1;
    to->ball.scales = made->alpha;
}

void test_ending_forget(test_ending_asked *made)
{
    nadir_solver_free(made->solver);
    nadir_policy_free(made->policy);
    nadir_model_free(made->model);
}

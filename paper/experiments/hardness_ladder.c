/*
 * hardness_ladder.c: an integer program as a robust ladder, and its worst case; see hardness.h.
 *
 * The vertices of {F xi <= g, 0 <= xi <= 1}: k of the m constraints are tight and determine k of the
 * parameters; the others are 0 or 1. All of that is tried, for k = 0 to m.
 */
#include "hardness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STATES = 3 * HARDNESS_MOST + 2, MOST_TIGHT = HARDNESS_MOST_CONSTRAINTS };

/* r_j: what b0_j pays. */
static double reward_of(const hardness_program *program, const hardness_ladder *ladder, int j)
{
    const double visits = 1 + ladder->discount / program->n;
    return ladder->big + (ladder->discount * ladder->big - program->c[j]) / (ladder->discount * visits);
}

/* J_0 */
static double base_of(const hardness_program *program, const hardness_ladder *ladder)
{
    const double visits = 1 + ladder->discount / program->n;
    double sum = 0;
    for (int j = 0; j < program->n; j++) {
        sum += (visits * ladder->discount + 1) * reward_of(program, ladder, j) + ladder->big;
    }
    return sum;
}

void hardness_ladder_make(const hardness_program *program, double discount, hardness_ladder *ladder)
{
    const double visits = 1 + discount / program->n;
    double sum = 0; /* |c|_1 */
    double most = 1;
    for (int j = 0; j < program->n; j++) {
        sum += abs(program->c[j]);
    }
    most = fmax(most, sum);
    for (int i = 0; i < program->m; i++) {
        double row = 0;
        for (int j = 0; j < program->n; j++) {
            row += abs(program->F[i][j]);
        }
        most = fmax(most, row);
    }
    const double e = 0.49 / most;
    ladder->discount = discount;
    ladder->states = 3 * program->n + 2;
    ladder->concavity = (sum + abs(program->zeta) + 1) / (e * (1 - e));
    ladder->big = ladder->concavity / (visits * discount * discount);
    ladder->base = base_of(program, ladder);
}

void hardness_ladder_scale(const hardness_program *program, double share, hardness_ladder *ladder)
{
    ladder->big *= share;
    ladder->concavity *= share;
    ladder->base = base_of(program, ladder);
}

nadir_status hardness_ladder_model(nadir_context *context, const hardness_program *program,
                                   const hardness_ladder *ladder, const double *xi, nadir_model **model)
{
    const int n = program->n;
    const int states = ladder->states;
    const int tau = states - 1;
    double rewards[MOST_STATES] = {0};
    int64_t state_rows[MOST_STATES + 1];
    int64_t starts[MOST_STATES + 1] = {0};
    int32_t columns[5 * HARDNESS_MOST + HARDNESS_MOST + 1];
    double probabilities[5 * HARDNESS_MOST + HARDNESS_MOST + 1];
    int count = 0;
    nadir_model_data data;
    for (int s = 0; s < states; s++) {
        const int j = s % n;
        starts[s] = count;
        state_rows[s] = s;
        if (s < 2 * n) { /* b_j and b0_j */
            columns[count] = 2 * n + j;
            probabilities[count++] = xi[j];
            columns[count] = s < n ? n + j : tau;
            probabilities[count++] = 1 - xi[j];
        } else if (s == 3 * n) { /* c0 */
            for (int b = 0; b < n; b++) {
                columns[count] = b;
                probabilities[count++] = 1.0 / n;
            }
        } else {
            columns[count] = tau;
            probabilities[count++] = 1;
        }
    }
    state_rows[states] = states;
    starts[states] = count;
    for (int j = 0; j < n; j++) {
        rewards[n + j] = reward_of(program, ladder, j);
        rewards[2 * n + j] = ladder->big;
    }
    nadir_model_data_default(&data);
    data.states = data.rows = states;
    data.nonzeros = count;
    data.discount = ladder->discount;
    data.state_rows = state_rows;
    data.row_starts = starts;
    data.columns = columns;
    data.probabilities = probabilities;
    data.rewards = rewards;
    return nadir_model_create(context, &data, model);
}

nadir_status hardness_ladder_return(nadir_context *context, const hardness_program *program,
                                    const hardness_ladder *ladder, const double *xi, double *scaled_return)
{
    nadir_status status = NADIR_OK;
    nadir_model *model = NULL;
    nadir_policy *policy = NULL;
    nadir_solver *solver = NULL;
    nadir_nominal nominal = {.size = sizeof nominal};
    NADIR_CHECK(hardness_ladder_model(context, program, ladder, xi, &model));
    NADIR_CHECK(nadir_policy_create_uniform(context, model, &policy));
    NADIR_CHECK(nadir_solver_create(context, model, policy, NULL, &solver));
    NADIR_CHECK(nadir_solver_nominal(context, solver, &nominal));
    *scaled_return = ladder->states * nominal.nominal_return;
cleanup:
    nadir_solver_free(solver);
    nadir_policy_free(policy);
    nadir_model_free(model);
    return status;
}

double hardness_ladder_formula(const hardness_program *program, const hardness_ladder *ladder,
                               const double *xi)
{
    double sum = ladder->base;
    for (int j = 0; j < program->n; j++) {
        sum += program->c[j] * xi[j] + ladder->concavity * xi[j] * (1 - xi[j]);
    }
    return sum;
}

/* Solves A y = r of size k by Gauss with pivoting; false when A is singular. */
static bool solve_small(int k, double A[MOST_TIGHT][MOST_TIGHT + 1])
{
    for (int column = 0; column < k; column++) {
        int pivot = column;
        for (int i = column + 1; i < k; i++) {
            pivot = fabs(A[i][column]) > fabs(A[pivot][column]) ? i : pivot;
        }
        if (fabs(A[pivot][column]) < 1e-9) {
            return false;
        }
        for (int j = 0; j <= k; j++) {
            const double kept = A[column][j];
            A[column][j] = A[pivot][j];
            A[pivot][j] = kept;
        }
        for (int i = 0; i < k; i++) {
            const double factor = A[i][column] / A[column][column];
            for (int j = column; i != column && j <= k; j++) {
                A[i][j] -= factor * A[column][j];
            }
        }
    }
    for (int i = 0; i < k; i++) {
        A[i][k] /= A[i][i];
    }
    return true;
}

/* The point where the constraints `tight` hold with equality, the parameters `loose` are free and the others
 * are the bits of x; false when there is none in the set. Sets of bits. */
static bool find_vertex(const hardness_program *program, unsigned tight, unsigned loose, unsigned x,
                        double xi[HARDNESS_MOST])
{
    double A[MOST_TIGHT][MOST_TIGHT + 1] = {{0}};
    int places[MOST_TIGHT];
    int k = 0;
    for (int j = 0; j < program->n; j++) {
        xi[j] = (x >> j & 1) != 0 && (loose >> j & 1) == 0;
        if ((loose >> j & 1) != 0) {
            places[k++] = j;
        }
    }
    int row = 0;
    for (int i = 0; i < program->m; i++) {
        if ((tight >> i & 1) == 0) {
            continue;
        }
        A[row][k] = program->g[i];
        for (int j = 0; j < program->n; j++) {
            A[row][k] -= program->F[i][j] * xi[j];
        }
        for (int column = 0; column < k; column++) {
            A[row][column] = program->F[i][places[column]];
        }
        row++;
    }
    if (!solve_small(k, A)) {
        return false;
    }
    for (int column = 0; column < k; column++) {
        xi[places[column]] = A[column][k];
    }
    for (int i = 0; i < program->m; i++) {
        double sum = 0;
        for (int j = 0; j < program->n; j++) {
            sum += program->F[i][j] * xi[j];
        }
        if (sum > program->g[i] + 1e-9) {
            return false;
        }
    }
    for (int column = 0; column < k; column++) {
        double *entry = &xi[places[column]];
        if (*entry < -1e-9 || *entry > 1 + 1e-9) {
            return false;
        }
        *entry = fmin(1, fmax(0, *entry));
    }
    return true;
}

static nadir_status try_vertex(nadir_context *context, const hardness_program *program,
                               const hardness_ladder *ladder, const double *xi, hardness_answer *answer)
{
    double found;
    const nadir_status status = hardness_ladder_return(context, program, ladder, xi, &found);
    if (status != NADIR_OK) {
        return status;
    }
    const double error =
        fabs(found - hardness_ladder_formula(program, ladder, xi)) / (fabs(ladder->base) + ladder->concavity);
    answer->vertices++;
    answer->formula_error = fmax(answer->formula_error, error);
    if (found - ladder->base < answer->least) {
        answer->least = found - ladder->base;
        memcpy(answer->xi, xi, sizeof answer->xi);
    }
    return NADIR_OK;
}

nadir_status hardness_solve(nadir_context *context, const hardness_program *program,
                            const hardness_ladder *ladder, hardness_answer *answer)
{
    const unsigned all = 1U << program->n;
    nadir_status status = NADIR_OK;
    *answer = (hardness_answer){.least = INFINITY};
    for (unsigned tight = 0; tight < 1U << program->m; tight++) {
        for (unsigned loose = 0; loose < all; loose++) {
            if (__builtin_popcount(loose) != __builtin_popcount(tight)) {
                continue;
            }
            for (unsigned x = 0; x < all; x++) {
                double xi[HARDNESS_MOST] = {0};
                if ((x & loose) == 0 && find_vertex(program, tight, loose, x, xi)) {
                    NADIR_CHECK(try_vertex(context, program, ladder, xi, answer));
                }
            }
        }
        NADIR_CHECK(nadir_progress(context, "vertices of the integer program", -1));
    }
    answer->yes = answer->least <= program->zeta + 0.5;
cleanup:
    return status;
}

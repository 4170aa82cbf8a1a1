/* hardness.c: integer programs, by enumeration, in closed form and as robust ladders; see hardness.h. */
#include "hardness.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_ITEMS = 1024 };

/* Uniform in low..high. */
static int draw_between(nadir_random *random, int low, int high)
{
    const int choices = high - low + 1;
    return low + (int)nadir_random_below(random, (uint64_t)choices);
}

/* Sums of the entries below and above zero. */
static void reach_of(int n, const int *entries, int *low, int *high)
{
    *low = *high = 0;
    for (int j = 0; j < n; j++) {
        *low += entries[j] < 0 ? entries[j] : 0;
        *high += entries[j] > 0 ? entries[j] : 0;
    }
}

void hardness_draw(nadir_random *random, int n, int m, int range, hardness_program *program)
{
    int low;
    int high;
    memset(program, 0, sizeof *program);
    program->n = n;
    program->m = m;
    for (int j = 0; j < n; j++) {
        program->c[j] = draw_between(random, -range, range);
    }
    reach_of(n, program->c, &low, &high);
    program->zeta = draw_between(random, low - 1, high / 2);
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < n; j++) {
            program->F[i][j] = draw_between(random, -range, range);
        }
        reach_of(n, program->F[i], &low, &high);
        program->g[i] = draw_between(random, low - 1, high / 2);
    }
}

bool hardness_enumerate(const hardness_program *program, int *least)
{
    bool found = false;
    for (int x = 0; x < 1 << program->n; x++) {
        bool feasible = true;
        int value = 0;
        for (int i = 0; i < program->m; i++) {
            int sum = 0;
            for (int j = 0; j < program->n; j++) {
                sum += (x >> j & 1) * program->F[i][j];
            }
            feasible = feasible && sum <= program->g[i];
        }
        for (int j = 0; j < program->n; j++) {
            value += (x >> j & 1) * program->c[j];
        }
        if (feasible && (!found || value < *least)) {
            *least = value;
            found = true;
        }
    }
    return found;
}

static int compare(const void *a, const void *b)
{
    const int x = *(const int *)a;
    const int y = *(const int *)b;
    return (x > y) - (x < y);
}

/* The sum of the g smallest entries, of all of them or of those below zero. */
static int64_t smallest(int n, const int *c, int g, bool negative)
{
    int sorted[MOST_ITEMS];
    int64_t sum = 0;
    n = n < MOST_ITEMS ? n : MOST_ITEMS;
    memcpy(sorted, c, (size_t)n * sizeof *c);
    qsort(sorted, (size_t)n, sizeof *sorted, compare);
    for (int j = 0; j < n && j < g; j++) {
        sum += negative && sorted[j] > 0 ? 0 : sorted[j];
    }
    return sum;
}

bool hardness_closed_form(int n, const int *c, int g, int64_t *least)
{
    *least = smallest(n, c, g, true);
    return g >= 0;
}

bool hardness_printed_rule(int n, const int *c, int g, int64_t zeta)
{
    return g == 0 || (g > 0 && smallest(n, c, g, false) <= zeta);
}

/* States b_j, one_j and tau; one action. */
static nadir_status make_ball_model(nadir_context *context, int n, const int *c, double share,
                                    nadir_model **model)
{
    const int64_t states = 2 * (int64_t)n + 1;
    nadir_status status = NADIR_OK;
    double *rewards = NULL;
    double *dense = NULL;
    double *initial = NULL;
    double *scales = NULL;
    int64_t *state_rows = NULL;
    nadir_model_data data;
    NADIR_NEW_ZERO(context, rewards, states);
    NADIR_NEW_ZERO(context, dense, states * states);
    NADIR_NEW_ZERO(context, initial, states);
    NADIR_NEW_ZERO(context, scales, states);
    NADIR_NEW(context, state_rows, states + 1);
    nadir_model_data_default(&data);
    data.states = data.rows = states;
    data.discount = 0.5;
    for (int64_t s = 0; s < states; s++) {
        state_rows[s] = s;
        dense[s * states + states - 1] = s < n ? 1 - share : 1;
    }
    state_rows[states] = states;
    for (int64_t s = 0; s < n; s++) {
        dense[s * states + n + s] = share;
        rewards[n + s] = c[s] * (double)n / data.discount; /* so that J = c.xi */
        initial[s] = 1.0 / n;
        scales[s] = 1;
    }
    data.state_rows = state_rows;
    data.dense = dense;
    data.rewards = rewards;
    data.initial = initial;
    data.scales = scales;
    status = nadir_model_create(context, &data, model);
cleanup:
    nadir_release(context, state_rows);
    nadir_release(context, scales);
    nadir_release(context, initial);
    nadir_release(context, dense);
    nadir_release(context, rewards);
    return status;
}

nadir_status hardness_ball(nadir_context *context, int n, const int *c, int g, double *least)
{
    const double share = 0x1p-20;
    const double radius = 2 * g * (1 - share);
    nadir_status status = NADIR_OK;
    nadir_model *model = NULL;
    nadir_policy *policy = NULL;
    nadir_solver *solver = NULL;
    nadir_robust robust = {.size = sizeof robust};
    nadir_ball ball;
    nadir_ball_default(&ball);
    ball.norm = 1;
    ball.domain = NADIR_DOMAIN_SUPPORT;
    ball.radius = &radius;
    ball.radius_count = 1;
    NADIR_CHECK(make_ball_model(context, n, c, share, &model));
    NADIR_CHECK(nadir_policy_create_uniform(context, model, &policy));
    NADIR_CHECK(nadir_solver_create(context, model, policy, NULL, &solver));
    NADIR_CHECK(nadir_solver_robust(context, solver, &ball, NULL, &robust, NULL));
    *least = robust.robust_return;
cleanup:
    nadir_solver_free(solver);
    nadir_policy_free(policy);
    nadir_model_free(model);
    return status;
}

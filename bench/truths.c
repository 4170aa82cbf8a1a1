/* truths.c: true models; see truths.h. */
#include "truths.h"
#include "measure.h"

#include <stdlib.h>
#include <string.h>

/* A model under construction, dense. */
typedef struct drawing {
    int64_t states, actions;
    double discount;
    double P[32][4][32], R[32][4];
} drawing;

/* A queue of up to 9: slow, middling or fast service, which costs 0, 0.6, 1.5; waiting costs 0.25 each; arrivals 0.45. */
static void draw_queue(drawing *to)
{
    static const double service[] = {0.2, 0.45, 0.75}, cost[] = {0, 0.6, 1.5};
    to->states = 10;
    to->actions = 3;
    to->discount = 0.95;
    for (int s = 0; s < 10; s++) {
        for (int a = 0; a < 3; a++) {
            const double up = 0.45 * (1 - (s > 0 ? service[a] : 0));
            const double down = s > 0 ? service[a] * 0.55 : 0;
            to->P[s][a][s < 9 ? s + 1 : 9] += up;
            to->P[s][a][s > 0 ? s - 1 : 0] += down;
            to->P[s][a][s] += 1 - up - down;
            to->R[s][a] = -0.25 * s - cost[a] - (s == 9 ? 4 : 0);
        }
    }
}

/* Severity 0 (healthy) to 7, 8 is death: nothing, a mild and a strong treatment, the latter with side effects. */
static void draw_deaths(drawing *to, double times)
{
    static const double better[] = {0.1, 0.35, 0.6}, worse[] = {0.35, 0.2, 0.12},
                        death[] = {0.01, 0.01, 0.03};
    to->states = 9;
    to->actions = 3;
    to->discount = 0.9;
    for (int a = 0; a < 3; a++) {
        to->P[8][a][8] = 1;
        for (int s = 0; s < 8; s++) {
            const double fatal = times * death[a] * s / 3;
            to->P[s][a][8] += fatal;
            to->P[s][a][s > 0 ? s - 1 : 0] += (1 - fatal) * better[a];
            to->P[s][a][s < 7 ? s + 1 : 7] += (1 - fatal) * worse[a];
            to->P[s][a][s] += (1 - fatal) * (1 - better[a] - worse[a]);
            to->R[s][a] = 1 - 0.12 * s - 0.15 * a;
        }
    }
}

static void draw_treatment(drawing *to)
{
    draw_deaths(to, 1);
}

/* The same with five times as many deaths: 30 visits of a row hardly tell it from the other. */
static void draw_grave(drawing *to)
{
    draw_deaths(to, 5);
}

/* A ring of 12 places with a prize at 6 and a pit at 4: left, stay, right, each of which slips by up to two. */
static void draw_ring(drawing *to)
{
    static const double slips[] = {0.05, 0.1, 0.7, 0.1, 0.05};
    to->states = 12;
    to->actions = 3;
    to->discount = 0.93;
    for (int s = 0; s < 12; s++) {
        for (int a = 0; a < 3; a++) {
            for (int k = 0; k < 5; k++) {
                to->P[s][a][(s + a - 1 + k - 2 + 24) % 12] += slips[k];
            }
            to->R[s][a] = s == 6 ? 10 : s == 4 ? -8 : a == 1 ? 0 : -0.2;
        }
    }
}

/* A reservoir of levels 0 to 11: release nothing, 1, 2 or 3, as far as there is any, which pays 1, 1.6 and 2; inflows are 0
 * to 5, the largest rare; a full one floods, an empty one leaves fields dry. */
static void draw_reservoir(drawing *to)
{
    static const double inflow[] = {0.3, 0.35, 0.2, 0.1, 0, 0.05}, pay[] = {0, 1, 1.6, 2};
    to->states = 12;
    to->actions = 4;
    to->discount = 0.94;
    for (int s = 0; s < 12; s++) {
        for (int a = 0; a < 4; a++) {
            const int out = a < s ? a : s;
            for (int k = 0; k < 6; k++) {
                const int next = s - out + k;
                to->P[s][a][next < 11 ? next : 11] += inflow[k];
            }
            to->R[s][a] = pay[out] - (s == 11 ? 6 : s == 0 ? 1.5 : 0);
        }
    }
}

/* A stock of fish of 0 to 9: fish for nothing, 1 or 2; what is left grows, most in the middle; small stocks may collapse, and
 * come back seldom. */
static void draw_fishery(drawing *to)
{
    to->states = 10;
    to->actions = 3;
    to->discount = 0.92;
    for (int s = 0; s < 10; s++) {
        for (int a = 0; a < 3; a++) {
            const int left = s > a ? s - a : 0;
            const double grow = left == 0 ? 0.08 : 0.15 + 0.12 * left * (9 - left) / 5;
            const double collapse = left > 0 && left < 4 ? 0.06 / left : 0;
            to->P[s][a][0] += collapse;
            to->P[s][a][left < 8 ? left + 2 : 9] += (1 - collapse) * grow * 0.3;
            to->P[s][a][left < 9 ? left + 1 : 9] += (1 - collapse) * grow * 0.7;
            to->P[s][a][left] += (1 - collapse) * (1 - grow);
            to->R[s][a] = (s < a ? s : a) * (a == 2 ? 0.9 : 1);
        }
    }
}

static nadir_model *model_of(nadir_context *context, const drawing *from)
{
    nadir_model *model = NULL;
    nadir_model_data data;
    const int64_t rows = from->states * from->actions;
    int64_t *starts = bench_new(rows + 1, sizeof *starts);
    int64_t *first = bench_new(from->states + 1, sizeof *first);
    int32_t *columns = bench_new(rows * from->states, sizeof *columns);
    double *values = bench_new(rows * from->states, sizeof *values);
    double *rewards = bench_new(rows, sizeof *rewards);
    int64_t to = 0;
    for (int64_t row = 0; row < rows; row++) {
        const int64_t s = row / from->actions;
        const int64_t a = row % from->actions;
        first[s] = s * from->actions;
        starts[row] = to;
        rewards[row] = from->R[s][a];
        for (int64_t t = 0; t < from->states; t++) {
            if (from->P[s][a][t] > 0) {
                columns[to] = (int32_t)t;
                values[to++] = from->P[s][a][t];
            }
        }
    }
    starts[rows] = to;
    first[from->states] = rows;
    nadir_model_data_default(&data);
    data.states = from->states;
    data.rows = rows;
    data.discount = from->discount;
    data.state_rows = first;
    data.row_starts = starts;
    data.columns = columns;
    data.probabilities = values;
    data.rewards = rewards;
    bench_check(context, nadir_model_create(context, &data, &model));
    free(starts);
    free(first);
    free(columns);
    free(values);
    free(rewards);
    return model;
}

nadir_model *bench_truth(nadir_context *context, const char *name)
{
    static void (*const draw[])(drawing *) = {draw_queue, draw_treatment, draw_ring,
                                              draw_grave, draw_reservoir, draw_fishery};
    static const char *const own[] = {"queue", "treatment", "ring", "grave", "reservoir", "fishery"};
    nadir_model *model = NULL;
    nadir_generate_settings settings;
    nadir_generate_settings_default(&settings);
    const char *kind = name;
    for (int i = 0; i < 6; i++) {
        if (strcmp(name, own[i]) == 0) {
            drawing *made = bench_new(1, sizeof *made);
            draw[i](made);
            model = model_of(context, made);
            free(made);
            return model;
        }
    }
    if (strncmp(name, "garnet", 6) == 0) {
        kind = "garnet";
        settings.states = strcmp(name, "garnet") == 0 ? 20 : 30;
        settings.actions = strcmp(name, "garnet") == 0 ? 4 : 3;
        settings.branch = strcmp(name, "garnet") == 0 ? 5 : 3;
        settings.discount = strcmp(name, "garnet") == 0 ? 0.9 : 0.95;
    } else if (strcmp(name, "inventory") == 0) {
        settings.capacity = 5;
        settings.demand = 4;
    } else if (strcmp(name, "inventory7") == 0) {
        kind = "inventory";
        settings.capacity = 7;
        settings.demand = 6;
    } else if (strcmp(name, "random") == 0) {
        settings.states = 8;
        settings.actions = 4;
    }
    bench_check(context, nadir_model_generate(context, kind, &settings, &model));
    return model;
}

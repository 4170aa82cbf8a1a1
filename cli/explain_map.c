/*
 * explain_map.c: a map of the damage where the states are the cells of a grid ("r3c4", as nadir generate gridworld
 * names them): cells are the darker the more damage their rows do, with the policy, the walls, the goal, and arrows to
 * where the attack sends the rows that do most.
 */
#include "explain.h"
#include "gnuplot.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <strings.h>

enum {
    CELLS = 1 << 16,
    CELLS_WITH_NUMBERS = 144, /* more: too small to be read */
    WIDE = 8,
    CELLS_WITH_ARROWS = 900,
    CELLS_WITH_LINES = 2500,
    ATTACKS = 5
};
#define LEAST_ATTACK 0.03 /* share of a row whose arrow is drawn */
#define LEAST_POLICY 0.05 /* probability of an action whose arrow is drawn */

/* States as cells. */
typedef struct grid {
    int64_t width, height;
    int64_t states;
    int32_t *places; /* [states] row * width + column */
    nadir_model_data view;
} grid;

/* A number from 0 to CELLS - 1 after this letter; *at moves on. */
static bool parse_number(const char **at, char letter, int64_t *number)
{
    char *end = NULL;
    if (**at != letter || (*at)[1] < '0' || (*at)[1] > '9') {
        return false;
    }
    *number = strtoll(*at + 1, &end, 10); /* too large: the largest there is */
    *at = end;
    return *number < CELLS;
}

/* "r3c4" */
static bool parse_cell(const char *name, int64_t *row, int64_t *column)
{
    return name != NULL && parse_number(&name, 'r', row) && parse_number(&name, 'c', column) && *name == '\0';
}

/* Whether every state is a cell of its own in a grid that they fill, but for walls. */
static bool find_grid(const nadir_model *model, grid *made)
{
    int64_t row;
    int64_t column;
    *made = (grid){0};
    nadir_model_data_default(&made->view);
    nadir_model_view(model, &made->view);
    made->states = made->view.states;
    for (int64_t s = 0; s < made->states; s++) {
        if (!parse_cell(nadir_model_state_name(model, s), &row, &column)) {
            return false;
        }
        made->height = row >= made->height ? row + 1 : made->height;
        made->width = column >= made->width ? column + 1 : made->width;
    }
    const int64_t cells = made->width * made->height;
    if (cells < 1 || cells > CELLS || cells > 4 * made->states) {
        return false;
    }
    bool *taken = calloc((size_t)cells, sizeof *taken);
    made->places = calloc((size_t)made->states, sizeof *made->places);
    bool good = taken != NULL && made->places != NULL;
    for (int64_t s = 0; good && s < made->states; s++) {
        good =
            parse_cell(nadir_model_state_name(model, s), &row, &column) && !taken[row * made->width + column];
        if (good) {
            taken[row * made->width + column] = true;
            made->places[s] = (int32_t)(row * made->width + column);
        }
    }
    free(taken);
    if (!good) {
        free(made->places);
        made->places = NULL;
    }
    return good;
}

static double column_of(const grid *cells, int64_t state)
{
    return (double)(cells->places[state] % cells->width);
}

static double row_of(const grid *cells, int64_t state)
{
    const int64_t row = cells->places[state] / cells->width;
    return (double)row;
}

/* ------------------------------------------------------------------------------------------- damage */

/* The share of each cell in per cent, all its actions together; NaN where there is no state. */
static double *sum_cells(const cli_explain *explain, const grid *cells)
{
    double *shares = calloc((size_t)(cells->width * cells->height), sizeof *shares);
    for (int64_t i = 0; shares != NULL && i < cells->width * cells->height; i++) {
        shares[i] = NAN;
    }
    for (int64_t s = 0; shares != NULL && s < cells->states; s++) {
        shares[cells->places[s]] = 0;
    }
    for (int64_t i = 0; shares != NULL && i < explain->changed; i++) {
        shares[cells->places[explain->damages[i].state]] += 100 * explain->damages[i].share;
    }
    return shares;
}

/* Column, row, share, number to write: of cells, then of walls. Returns whether there are walls. */
static bool write_cells(const grid *cells, const double *shares, FILE *script)
{
    double most = 0;
    bool walls = false;
    fputs("$map << EOD\n", script);
    for (int64_t i = 0; i < cells->width * cells->height; i++) {
        most = isnan(shares[i]) ? most : fmax(most, shares[i]);
        walls = walls || isnan(shares[i]);
        if (!isnan(shares[i])) {
            char number[32] = "";
            const int digits = cells->width <= WIDE ? 1 : 0; /* of narrow cells whole numbers */
            (void)(fabs(shares[i]) >= (digits == 1 ? 0.05 : 0.5)
                       ? snprintf(number, sizeof number, "%.*f %%", digits, shares[i])
                       : 0);
            fprintf(script, "%" PRId64 " %" PRId64 " %.6g \"%s\"\n", i % cells->width, i / cells->width,
                    fmax(shares[i], 0), number);
        }
    }
    fputs("EOD\n$walls << EOD\nNaN NaN\n", script);
    for (int64_t i = 0; i < cells->width * cells->height; i++) {
        if (isnan(shares[i])) {
            fprintf(script, "%" PRId64 " %" PRId64 "\n", i % cells->width, i / cells->width);
        }
    }
    most = most > 0 ? most : 1;
    fprintf(script, "EOD\nset cbrange [0:%.6g]\nset cbtics %.6g format '%%g %%%%'\n", most,
            cli_gnuplot_step(most, 4));
    return walls;
}

/* -------------------------------------------------------------------------------- goal, start, policy */

/* Whether no row of it has a successor: where a model without a discount ends. */
static bool has_ended(const grid *cells, int64_t state)
{
    const nadir_model_data *view = &cells->view;
    bool ended = true;
    for (int64_t row = view->state_rows[state]; ended && row < view->state_rows[state + 1]; row++) {
        if (view->dense == NULL) {
            ended = view->row_starts[row] == view->row_starts[row + 1];
        }
        for (int64_t to = 0; view->dense != NULL && ended && to < view->states; to++) {
            ended = view->dense[row * view->states + to] == 0;
        }
    }
    return ended;
}

/* A state that pays for landing, or whose value where the process ends is positive: 1 with --goal. */
static bool is_goal(const grid *cells, const double *paid, int64_t state)
{
    const nadir_model_data *view = &cells->view;
    const int64_t first = view->state_rows[state];
    return (paid != NULL && paid[state] > 0) ||
           (view->rewards != NULL && first < view->state_rows[state + 1] && view->rewards[first] > 0 &&
            has_ended(cells, state));
}

static bool is_absorbing(const grid *cells, int64_t state)
{
    const nadir_model_data *view = &cells->view;
    bool stays = true;
    for (int64_t row = view->state_rows[state]; stays && row < view->state_rows[state + 1]; row++) {
        if (view->dense != NULL) {
            stays = view->dense[row * view->states + state] >= 1 || has_ended(cells, state);
        } else { /* a state without a successor ends the episode */
            const int64_t first = view->row_starts[row];
            const int64_t count = view->row_starts[row + 1] - first;
            stays = count == 0 || (count == 1 && view->columns[first] == state);
        }
    }
    return stays;
}

/* The largest reward for landing in each state from another one; NaN: none is known. */
static double *landing_rewards(const grid *cells)
{
    const nadir_model_data *view = &cells->view;
    double *paid = calloc((size_t)view->states, sizeof *paid);
    for (int64_t s = 0; paid != NULL && s < view->states; s++) {
        paid[s] = NAN;
    }
    for (int64_t s = 0;
         paid != NULL && view->row_starts != NULL && view->transition_rewards != NULL && s < view->states;
         s++) {
        for (int64_t i = view->row_starts[view->state_rows[s]]; i < view->row_starts[view->state_rows[s + 1]];
             i++) {
            const int32_t to = view->columns[i];
            paid[to] = to != s ? fmax(paid[to], view->transition_rewards[i]) : paid[to];
        }
    }
    return paid;
}

static void write_word(const grid *cells, int64_t state, const char *word, FILE *script)
{
    fprintf(script, "set label '%s' at first %g, first %g center front font ',14'\n", word,
            column_of(cells, state), row_of(cells, state) - 0.3);
}

/* Goals, other states that are never left, which just end. The start, where there is one. */
static void write_words(const grid *cells, FILE *script)
{
    double *paid = landing_rewards(cells);
    for (int64_t s = 0; s < cells->states; s++) {
        if (is_absorbing(cells, s)) {
            write_word(cells, s, is_goal(cells, paid, s) ? "goal" : "end", script);
        } else if (cells->view.initial[s] >= 1 && cells->states > 1) {
            write_word(cells, s, "start", script);
        }
    }
    free(paid);
}

/* Where an action of this name leads; whether it is a direction. */
static bool find_direction(const char *name, int *right, int *down)
{
    static const struct {
        const char *names[2];
        int right, down;
    } ways[] = {{{"up", "north"}, 0, -1},
                {{"right", "east"}, 1, 0},
                {{"down", "south"}, 0, 1},
                {{"left", "west"}, -1, 0}};
    for (size_t i = 0; name != NULL && i < sizeof ways / sizeof *ways; i++) {
        if (strcasecmp(name, ways[i].names[0]) == 0 || strcasecmp(name, ways[i].names[1]) == 0) {
            *right = ways[i].right;
            *down = ways[i].down;
            return true;
        }
    }
    return false;
}

/* An arrow for each action, as long as it is likely. Returns whether there is one. */
static bool write_policy(const nadir_model *model, const nadir_policy *policy, const grid *cells,
                         FILE *script)
{
    const double *pi = nadir_policy_probabilities(policy);
    bool any = false;
    fputs("$policy << EOD\nNaN NaN NaN NaN\n", script);
    for (int64_t s = 0; s < cells->states && cells->width * cells->height <= CELLS_WITH_ARROWS; s++) {
        for (int64_t row = cells->view.state_rows[s]; row < cells->view.state_rows[s + 1]; row++) {
            int right;
            int down;
            if (pi[row] < LEAST_POLICY || is_absorbing(cells, s) ||
                !find_direction(nadir_model_action_name(model, row), &right, &down)) {
                continue;
            }
            const double length = 0.1 + 0.2 * pi[row];
            const double start = pi[row] > 0.9 ? 0.5 : 0; /* alone: in the middle of the cell */
            fprintf(script, "%.6g %.6g %.6g %.6g\n", column_of(cells, s) - start * length * right,
                    row_of(cells, s) - start * length * down, length * right, length * down);
            any = true;
        }
    }
    fputs("EOD\n", script);
    return any;
}

/* ------------------------------------------------------------------------------------------- attack */

/* Arrows from the cells that do most damage to where the attack sends them; rings where it lets them stay. */
static void write_attack(const cli_explain *explain, const grid *cells, bool *arrows, bool *rings,
                         FILE *script)
{
    *arrows = false;
    *rings = false;
    for (int pass = 0; pass < 2; pass++) {
        fputs(pass == 0 ? "$attack << EOD\nNaN NaN NaN NaN\n" : "$stays << EOD\nNaN NaN\n", script);
        for (int64_t i = 0; i < explain->changed && i < ATTACKS; i++) {
            const nadir_damage *damage = &explain->damages[i];
            if (damage->to < 0 || damage->share < LEAST_ATTACK) {
                continue;
            }
            const double x = column_of(cells, damage->state);
            const double y = row_of(cells, damage->state);
            const double right = column_of(cells, damage->to) - x;
            const double down = row_of(cells, damage->to) - y;
            const double length = hypot(right, down);
            if (pass == 0 && length > 0) { /* to short of the number in the cell */
                fprintf(script, "%.6g %.6g %.6g %.6g\n", x + 0.12 * right / length, y + 0.12 * down / length,
                        right * (1 - 0.54 / length), down * (1 - 0.54 / length));
                *arrows = true;
            } else if (pass == 1 && length == 0) {
                fprintf(script, "%.6g %.6g\n", x, y);
                *rings = true;
            }
        }
        fputs("EOD\n", script);
    }
}

/* ------------------------------------------------------------------------------------------ picture */

static void write_frame(const grid *cells, const cli_explain *explain, FILE *script)
{
    const double tall = (double)cells->height / (double)cells->width;
    fprintf(script,
            "set palette defined (0 '#ffffff', 1 '#f39c3c')\nset cblabel 'share of the %s, by cell' offset "
            "character 2,0\n"
            "set size ratio %.6g\nset border linewidth 2\nset xrange [-0.5:%" PRId64
            ".5]\nset yrange [%" PRId64 ".5:-0.5]\nset xlabel 'column'\nset ylabel 'row'\nset xtics %g out "
            "nomirror\nset ytics %g out nomirror\n"
            "set style fill solid 1 %s\n",
            explain->optimistic ? "gain" : "loss", tall, cells->width - 1, cells->height - 1,
            fmax(1, cli_gnuplot_step((double)cells->width, 10)),
            fmax(1, cli_gnuplot_step((double)cells->height, fmin(10, fmax(2, 10 * tall)))),
            cells->states <= CELLS_WITH_LINES ? "border rgb '#999999'" : "noborder");
}

static void write_map(const cli_explain_view *view, const nadir_policy *policy, const cli_explain *explain,
                      const grid *cells, const double *shares, FILE *script)
{
    bool arrows;
    bool rings;
    const bool walls = write_cells(cells, shares, script);
    const bool ways = write_policy(view->model, policy, cells, script);
    write_attack(explain, cells, &arrows, &rings, script);
    if (cells->width * cells->height <= CELLS_WITH_NUMBERS) {
        write_words(cells, script);
    }
    write_frame(cells, explain, script);
    fputs("plot $map using 1:2:(0.5):(0.5):3 with boxxyerror palette linewidth 1 notitle", script);
    if (walls) {
        fputs(", $walls using 1:2:(0.5):(0.5) with boxxyerror linecolor rgb '#666666' title 'wall'", script);
    }
    if (arrows) {
        fprintf(script,
                ", $attack with vectors filled head linewidth 4 linecolor rgb '#0072b2' title "
                "'%s: where it moves probability (rows with most %s)'",
                explain->optimistic ? "best case" : "attack", explain->optimistic ? "gain" : "damage");
    }
    if (rings) {
        fprintf(script,
                ", $stays with points pointtype 6 pointsize 3 linewidth 4 linecolor rgb '#0072b2' title "
                "'%s: it makes staying more likely'",
                explain->optimistic ? "best case" : "attack");
    }
    if (ways) {
        fputs(", $policy with vectors filled head linewidth 2 linecolor rgb '#000000' title "
              "'policy (short arrow: less likely action)'",
              script);
    }
    if (cells->width * cells->height <= CELLS_WITH_NUMBERS) {
        fputs(", $map using ($1+0.47):($2+0.38):4 with labels right font ',12' notitle", script);
    }
    fputc('\n', script);
}

static nadir_status draw_map(cli_run *run, const cli_explain_view *view, const nadir_policy *policy,
                             const cli_explain *explain, const grid *cells)
{
    cli_gnuplot plot;
    double *shares = sum_cells(explain, cells);
    if (shares == NULL) {
        return cli_fail(run, NADIR_ERROR_MEMORY, "out of memory");
    }
    const double tall = (double)cells->height / (double)cells->width;
    const int height = (int)fmin(1600, fmax(420, 300 + 700 * tall));
    const nadir_status status = cli_gnuplot_open(run, explain->plot_path, 1000, height, 18, &plot);
    if (status == NADIR_OK) {
        cli_explain_title(view, explain, &plot);
        cli_gnuplot_key(&plot, 3);
        write_map(view, policy, explain, cells, shares, plot.script);
    }
    free(shares);
    return status == NADIR_OK ? cli_gnuplot_close(run, &plot) : status;
}

nadir_status cli_explain_map(cli_run *run, const cli_explain_view *view, const cli_explain *explain,
                             bool *is_grid)
{
    grid cells;
    nadir_policy *policy = NULL;
    *is_grid = find_grid(view->model, &cells);
    if (!*is_grid) {
        return NADIR_OK;
    }
    nadir_status status = cli_policy_get(run, view->model, view->policy_name, view->backend, &policy);
    if (status == NADIR_OK) {
        status = draw_map(run, view, policy, explain, &cells);
    }
    nadir_policy_free(policy);
    free(cells.places);
    return status;
}

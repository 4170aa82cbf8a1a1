/*
 * explain_plot.c: which rows do the damage, as a picture: a bar for each row, or, where the states are the
 * cells of a grid ("r3c4", as nadir generate gridworld names them), a map. Black on white, readable when
 * small.
 */
#include "explain.h"
#include "gnuplot.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { BARS = 15, LABEL = 48, CELLS_WITH_NUMBERS = 144, CELLS_WITH_LINES = 2500, CELLS = 1 << 16 };

/* States as cells. */
typedef struct grid {
    int64_t width, height;
    int64_t states;
    int32_t *places; /* [states] row * width + column */
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
    nadir_model_data view;
    nadir_model_data_default(&view);
    nadir_model_view(model, &view);
    int64_t row;
    int64_t column;
    *made = (grid){.states = view.states};
    for (int64_t s = 0; s < view.states; s++) {
        if (!parse_cell(nadir_model_state_name(model, s), &row, &column)) {
            return false;
        }
        made->height = row >= made->height ? row + 1 : made->height;
        made->width = column >= made->width ? column + 1 : made->width;
    }
    const int64_t cells = made->width * made->height;
    if (cells < 1 || cells > CELLS || cells > 4 * view.states) {
        return false;
    }
    bool *taken = calloc((size_t)cells, sizeof *taken);
    made->places = calloc((size_t)view.states, sizeof *made->places);
    bool good = taken != NULL && made->places != NULL;
    for (int64_t s = 0; good && s < view.states; s++) {
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

/* Labels and lengths of the first `shown` rows, and of all others together where there are more. */
static void write_bars(const nadir_model *model, const cli_explain *explain, int64_t shown,
                       const cli_gnuplot *plot)
{
    FILE *script = plot->script;
    const bool more = shown < explain->changed;
    double rest = 0;
    fprintf(script, "set yrange [%" PRId64 ".6:0.4]\nset ytics out nomirror (", more ? shown + 1 : shown);
    for (int64_t i = 0; i < shown; i++) {
        char state[LABEL];
        char action[LABEL];
        char label[2 * LABEL];
        (void)snprintf(label, sizeof label, "%s, %s",
                       cli_explain_state(model, explain->damages[i].state, LABEL, state),
                       cli_explain_action(model, &explain->damages[i], LABEL, action));
        fputs(i > 0 ? ", " : "", script);
        cli_gnuplot_text(plot, label);
        fprintf(script, " %" PRId64, i + 1);
    }
    if (more) {
        fprintf(script, ", '%" PRId64 " other rows' %" PRId64, explain->changed - shown, shown + 1);
    }
    fputs(")\n$bars << EOD\n", script);
    for (int64_t i = 0; i < explain->changed; i++) {
        const double percent = 100 * explain->damages[i].share;
        rest += i < shown ? 0 : percent;
        if (i < shown) {
            fprintf(script, "%" PRId64 " %.6g \"%.1f %%\" 0x777777\n", i + 1, percent, percent);
        }
    }
    if (more) {
        fprintf(script, "%" PRId64 " %.6g \"%.1f %%\" 0xffffff\n", shown + 1, rest, rest);
    }
    fputs("EOD\n", script);
}

static void write_title(const cli_explain *explain, const char *of_what, FILE *script)
{
    fprintf(script, "set title 'Share of the %s, %.4g, by %s'\n", explain->optimistic ? "gain" : "penalty",
            explain->optimistic ? -explain->penalty : explain->penalty, of_what);
}

static nadir_status draw_bars(cli_run *run, const nadir_model *model, const cli_explain *explain)
{
    cli_gnuplot plot;
    const int64_t shown = explain->changed < BARS ? explain->changed : BARS;
    const nadir_status status =
        cli_gnuplot_open(run, explain->plot_path, 900, 220 + 40 * (int)shown, 18, &plot);
    if (status != NADIR_OK) {
        return status;
    }
    write_title(explain, "state and action", plot.script);
    if (shown == 0) { /* nothing to draw but the frame */
        fputs("set xrange [0:100]\nset yrange [0:1]\nunset ytics\n"
              "set label 'no row changes' at 50, 0.5 center\nplot NaN notitle\n",
              plot.script);
        return cli_gnuplot_close(run, &plot);
    }
    write_bars(model, explain, shown, &plot);
    fputs(
        "set xlabel '%'\nset border 3 linewidth 2\nset xtics out nomirror\n"
        "set grid xtics linewidth 1 linecolor rgb '#bbbbbb'\nset xzeroaxis\nunset key\n"
        "set style fill solid 1 border rgb 'black'\nset offsets graph 0, graph 0.16, 0, 0\n"
        "plot $bars using ($2/2):1:(abs($2)/2):(0.36):4 with boxxyerror linecolor rgb variable linewidth 2, "
        "\\\n"
        "     $bars using ($2 > 0 ? $2 : 0):1:3 with labels left offset 0.7,0\n",
        plot.script);
    return cli_gnuplot_close(run, &plot);
}

/* The share of each cell, all its actions together; NaN where there is no state. */
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

/* A round number, of which no more than `count` fit into the range. */
static double round_step(double range, double count)
{
    const double least = range / count;
    const double power = pow(10, floor(log10(least)));
    return power * (least <= power ? 1 : least <= 2 * power ? 2 : least <= 5 * power ? 5 : 10);
}

static void write_map(const grid *cells, const double *shares, FILE *script)
{
    double most = 0;
    for (int64_t i = 0; i < cells->width * cells->height; i++) {
        most = isnan(shares[i]) ? most : fmax(most, shares[i]);
    }
    most = most > 0 ? most : 1;
    fprintf(script, "set cbrange [0:%.6g]\nset cbtics %.6g format '%%g %%%%'\n", most, round_step(most, 4));
    const double tall = (double)cells->height / (double)cells->width;
    fprintf(script, "set xtics %g out nomirror\nset ytics %g out nomirror\n$map << EOD\n",
            fmax(1, round_step((double)cells->width, 10)),
            fmax(1, round_step((double)cells->height, fmin(10, fmax(2, 10 * tall)))));
    for (int64_t row = 0; row < cells->height; row++) {
        for (int64_t column = 0; column < cells->width; column++) {
            const double share = shares[row * cells->width + column];
            fprintf(script, "%" PRId64 " %" PRId64 " ", column, row);
            if (isnan(share)) { /* a wall */
                fputs("NaN 0 \"\"\n", script);
            } else {
                char number[32] = "";
                (void)(fabs(share) >= 0.05 ? snprintf(number, sizeof number, "%.1f", share) : 0);
                fprintf(script, "%.6g %d \"%s\"\n", share, share > 0.55 * most, number);
            }
        }
    }
    fputs("EOD\n", script);
}

static nadir_status draw_map(cli_run *run, const cli_explain *explain, const grid *cells)
{
    cli_gnuplot plot;
    double *shares = sum_cells(explain, cells);
    if (shares == NULL) {
        return cli_fail(run, NADIR_ERROR_MEMORY, "out of memory");
    }
    const bool numbers = cells->width * cells->height <= CELLS_WITH_NUMBERS;
    const double tall = (double)cells->height / (double)cells->width;
    const int height = (int)fmin(1600, fmax(320, 120 + 680 * tall));
    const nadir_status status = cli_gnuplot_open(run, explain->plot_path, 900, height, 18, &plot);
    if (status == NADIR_OK) {
        write_title(explain, "cell", plot.script);
        write_map(cells, shares, plot.script);
        fprintf(plot.script,
                "set palette gray negative\nset size ratio %.6g\nset border linewidth 2\nunset key\n"
                "set xrange [-0.5:%" PRId64 ".5]\nset yrange [%" PRId64 ".5:-0.5]\n"
                "set xlabel 'column'\nset ylabel 'row'\n"
                "set style fill solid 1 %s\n"
                "plot $map using 1:2:(0.5):(0.5):3 with boxxyerror palette linewidth 1%s\n",
                tall, cells->width - 1, cells->height - 1,
                cells->states <= CELLS_WITH_LINES ? "border rgb '#999999'" : "noborder",
                numbers
                    ? ", $map using 1:2:($4 == 0 ? stringcolumn(5) : '') with labels textcolor rgb 'black'"
                      ", $map using 1:2:($4 == 1 ? stringcolumn(5) : '') with labels textcolor rgb 'white'"
                    : "");
    }
    free(shares);
    return status == NADIR_OK ? cli_gnuplot_close(run, &plot) : status;
}

nadir_status cli_explain_draw(cli_run *run, const nadir_model *model, const cli_explain *explain)
{
    grid cells;
    if (!find_grid(model, &cells)) {
        return draw_bars(run, model, explain);
    }
    const nadir_status status = draw_map(run, explain, &cells);
    free(cells.places);
    return status;
}

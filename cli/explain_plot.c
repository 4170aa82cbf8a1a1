/*
 * explain_plot.c: which rows do the damage, as a picture: a bar for each row, and beside it an arrow for its largest
 * move of probability. Grids have a map (explain_map.c).
 */
#include "explain.h"
#include "gnuplot.h"
#include "verdict.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { BARS = 15, LABEL = 48, WIDTH = 1200, FONT = 18 };

void cli_explain_title(const cli_explain_view *view, const cli_explain *explain, const cli_gnuplot *plot)
{
    const nadir_robust *robust = view->robust;
    char ball[160];
    char text[256];
    char number[2][32];
    (void)snprintf(text, sizeof text, "%s case %s, nominal %s\n%s", explain->optimistic ? "best" : "worst",
                   cli_short(robust->robust_return, number[0]), cli_short(robust->nominal_return, number[1]),
                   cli_ball_words(robust->radius, robust->norm, robust->set, robust->domain, ball));
    cli_gnuplot_title(plot, view->model_path, view->policy_name,
                      explain->optimistic ? "what brings the gain" : "what does the damage", text);
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
                       cli_explain_state(model, explain->damages[i].state, LABEL / 2, state),
                       cli_explain_action(model, &explain->damages[i], LABEL / 2, action));
        fputs(i > 0 ? ", " : "", script);
        cli_gnuplot_text(plot, label);
        fprintf(script, " %" PRId64, i + 1);
    }
    if (more) {
        fprintf(script, ", '%" PRId64 " other row%s' %" PRId64, explain->changed - shown,
                explain->changed - shown > 1 ? "s" : "", shown + 1);
    }
    fputs(")\n$bars << EOD\n", script);
    for (int64_t i = 0; i < explain->changed; i++) {
        const double percent = 100 * explain->damages[i].share;
        rest += i < shown ? 0 : percent;
        if (i < shown) {
            fprintf(script, "%" PRId64 " %.6g \"%.1f %%\" 0xe69f00\n", i + 1, percent, percent);
        }
    }
    if (more) {
        fprintf(script, "%" PRId64 " %.6g \"%.1f %%\" 0xdddddd\n", shown + 1, rest, rest);
    }
    fputs("EOD\n", script);
}

/* A successor's name beside the arrow; no more than fits there. */
static void write_successor(const nadir_model *model, int64_t state, int64_t place, bool to,
                            const cli_gnuplot *plot)
{
    enum { FITS = 17 };
    char name[LABEL];
    fputs("set label ", plot->script);
    cli_gnuplot_text(plot, cli_explain_state(model, state, FITS, name));
    fprintf(plot->script, " at screen %s, first %" PRId64 " %s\n", to ? "0.855" : "0.775", place,
            to ? "left" : "right");
}

/* Arrows from successor to successor: the largest move of each row, and how much it moves. */
static void write_arrows(const nadir_model *model, const cli_explain *explain, int64_t shown,
                         const cli_gnuplot *plot)
{
    bool any_new = false;
    bool any_never = false;
    for (int64_t i = 0; i < shown; i++) {
        const nadir_damage *damage = &explain->damages[i];
        if (damage->from < 0 || damage->to < 0) {
            continue;
        }
        write_successor(model, damage->from, i + 1, false, plot);
        write_successor(model, damage->to, i + 1, true, plot);
        const bool never = cli_explain_never_observed(model, damage);
        const char *colour = never || damage->is_new != 0 ? "#d55e00" : "#0072b2";
        any_never = any_never || never;
        any_new = any_new || damage->is_new != 0;
        fprintf(plot->script,
                "set arrow from screen 0.785, first %" PRId64 " to screen 0.845, first %" PRId64
                " lw 3 lc rgb '%s' filled size screen 0.012,20\n"
                "set label '%.2g' at screen 0.815, first %" PRId64
                " center offset character 0,0.55 font ',12' textcolor rgb '%s'\n",
                i + 1, i + 1, colour, damage->moved, i + 1, colour);
    }
    fprintf(plot->script, "set label '%s' at screen 0.815, graph 1 center offset character 0,1\n",
            any_never ? "largest moves (orange: never seen)"
            : any_new ? "largest moves (orange: not in the model)"
                      : "largest move of each row");
}

static nadir_status draw_bars(cli_run *run, const cli_explain_view *view, const cli_explain *explain)
{
    cli_gnuplot plot;
    const int64_t shown = explain->changed < BARS ? explain->changed : BARS;
    const nadir_status status =
        cli_gnuplot_open(run, explain->plot_path, WIDTH, 250 + 42 * (int)shown, FONT, &plot);
    if (status != NADIR_OK) {
        return status;
    }
    cli_explain_title(view, explain, &plot);
    if (shown == 0) { /* nothing to draw but the frame */
        fputs("set xrange [0:100]\nset yrange [0:1]\nunset ytics\n"
              "set label 'no row changes' at 50, 0.5 center\nplot NaN notitle\n",
              plot.script);
        return cli_gnuplot_close(run, &plot);
    }
    const double most = 100 * explain->damages[0].share;
    const int step = most > 50 ? 20 : most > 20 ? 10 : most > 5 ? 5 : 1;
    write_bars(view->model, explain, shown, &plot);
    write_arrows(view->model, explain, shown, &plot);
    fprintf(plot.script,
            "set tmargin at screen %.6g\nset rmargin at screen 0.6\n"
            "set xlabel 'share of the %s, %%'\nset ylabel 'state, action'\nset border 3 linewidth 2\n"
            "set xtics out nomirror\nset xzeroaxis\nunset key\n"
            "set style fill solid 1 noborder\nset offsets graph 0, graph 0.25, 0, 0\nset xtics -100,%d,100\n"
            "plot $bars using ($2/2):1:(abs($2)/2):(0.36):4 with boxxyerror linecolor rgb variable, \\\n"
            "     $bars using ($2 > 0 ? $2 : 0):1:3 with labels left offset 0.7,0\n",
            1 - 160.0 / plot.height, explain->optimistic ? "gain" : "loss", step);
    return cli_gnuplot_close(run, &plot);
}

nadir_status cli_explain_draw(cli_run *run, const cli_explain_view *view, const cli_explain *explain)
{
    bool is_grid = false;
    const nadir_status status = cli_explain_map(run, view, explain, &is_grid);
    return is_grid ? status : draw_bars(run, view, explain);
}

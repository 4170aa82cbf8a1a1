/* geometry_pictures.c: the set {D^pi H^pi} seen along two and three directions; see geometry_figure.h. */
#include "geometry_figure.h"

#include <math.h>

enum { N = GEOMETRY_ENTRIES };

/* Room for the title, in points, and its second line. */
enum { HEAD = 60 };
#define LEGEND "blue: random policies; orange: policies that are random in one state alone"

/* Of cells without a policy: white. */
#define EMPTY (-1.0)

/* ------------------------------------------------------------------------------------------ densities */

static nadir_status write_views(experiment_run *run, const geometry_run *self, const char *stem, int first,
                                int count)
{
    experiment_csv csv;
    (void)experiment_csv_open(run, stem, "view,x,y,policies", &csv);
    for (int v = first; v < first + count; v++) {
        const geometry_view *view = &self->views[v];
        for (int cell = 0; cell < GEOMETRY_BINS * GEOMETRY_BINS; cell++) {
            if (view->counts[cell] == 0) {
                continue;
            }
            const int i = cell / GEOMETRY_BINS;
            const double x = (i + 0.5) / GEOMETRY_BINS;
            const double y = (cell % GEOMETRY_BINS + 0.5) / GEOMETRY_BINS;
            experiment_csv_integer(&csv, v - first + 1);
            experiment_csv_number(&csv, view->low[0] + x * (view->high[0] - view->low[0]));
            experiment_csv_number(&csv, view->low[1] + y * (view->high[1] - view->low[1]));
            experiment_csv_integer(&csv, view->counts[cell]);
            experiment_csv_end_row(&csv);
        }
    }
    return experiment_csv_close(&csv);
}

/* Corners joined where they differ in one state: straight segments of the set. axes: [axes_count * N]. */
static void write_edges(FILE *script, const geometry_run *self, const char *name, int axes_count,
                        const double *axes)
{
    fprintf(script, "$%s << EOD\n", name);
    for (int corner = 0; corner < GEOMETRY_CORNERS; corner++) {
        for (int s = 0; s < GEOMETRY_STATES; s++) {
            if ((corner >> s & 1) != 0) {
                continue;
            }
            for (int end = 0; end < 2; end++) {
                double point[N];
                geometry_corner(&self->model, corner | end << s, point);
                for (int k = 0; k < axes_count; k++) {
                    fprintf(script, "%.9g ", geometry_coordinate(point, self->moments.mean, axes + k * N));
                }
                fputs("\n", script);
            }
            fputs("\n\n", script);
        }
    }
    fputs("EOD\n", script);
}

/* The density as an image: log10 of one and the policies in each cell. */
static void write_cells(FILE *script, const geometry_view *view, int v)
{
    fprintf(script, "$view%d << EOD\n", v);
    for (int j = 0; j < GEOMETRY_BINS; j++) {
        for (int i = 0; i < GEOMETRY_BINS; i++) {
            const int64_t policies = view->counts[i * GEOMETRY_BINS + j];
            fprintf(script, "%.3g ", policies > 0 ? log10((double)policies) : EMPTY);
        }
        fputs("\n", script);
    }
    fputs("EOD\n", script);
}

/* 1, 2 or 5 times a power of ten, so that there are two to five tics. */
static double tics_of(double range)
{
    const double power = pow(10, floor(log10(range / 5)));
    const double share = range / 5 / power;
    return share <= 1 ? power : share <= 2 ? 2 * power : share <= 5 ? 5 * power : 10 * power;
}

/* One density with the edges of the set over it. */
static void plot_view(const experiment_plot *plot, const geometry_view *view, int v)
{
    double step[2];
    double margin[2];
    double tics[2];
    for (int k = 0; k < 2; k++) {
        step[k] = (view->high[k] - view->low[k]) / GEOMETRY_BINS;
        margin[k] = 0.06 * (view->high[k] - view->low[k]);
        tics[k] = tics_of(view->high[k] - view->low[k]);
    }
    fprintf(plot->script,
            "set xrange [%.9g:%.9g]\nset yrange [%.9g:%.9g]\nset xtics %.9g\nset ytics %.9g\n"
            "plot $view%d matrix using (%.9g+%.9g*$1):(%.9g+%.9g*$2):3 with image notitle, "
            "$edges%d using 1:2 with lines linewidth 1.5 linecolor rgb '#d55e00' notitle\n",
            view->low[0] - margin[0], view->high[0] + margin[0], view->low[1] - margin[1],
            view->high[1] + margin[1], tics[0], tics[1], v, view->low[0] + 0.5 * step[0], step[0],
            view->low[1] + 0.5 * step[1], step[1], v);
}

/* Views are of pairs of components, (1, 2), (1, 3), ..., and then of random planes. */
static void set_labels(FILE *script, int view)
{
    int pair = 0;
    for (int x = 1; x < GEOMETRY_SHOWN; x++) {
        for (int y = x + 1; y <= GEOMETRY_SHOWN; y++, pair++) {
            if (pair == view) {
                fprintf(script, "set xlabel 'component %d (visits)'\nset ylabel 'component %d (visits)'\n", x,
                        y);
            }
        }
    }
    if (view >= pair) {
        fprintf(script, "set xlabel 'plane %d, axis 1 (visits)'\nset ylabel 'axis 2 (visits)'\n",
                view - pair + 1);
    }
}

nadir_status geometry_draw_views(experiment_run *run, const geometry_run *self, const char *stem, int first,
                                 int count, int columns)
{
    experiment_plot plot;
    const int lines = (count + columns - 1) / columns;
    const int side = columns > 2 ? 290 : 440;
    const double height = HEAD + 60 + (side + 40) * lines;
    const double margins[2] = {(columns < 3 ? 75 : 72) / height, 1 - (HEAD + 10) / height};
    const double top = log10((double)self->samples / 40); /* the darkest, as log10 of policies in a cell */
    nadir_status status = write_views(run, self, stem, first, count);
    status = status == NADIR_OK
                 ? experiment_plot_open(run, stem, side * columns, HEAD + 60 + (side + 40) * lines, &plot)
                 : status;
    if (status != NADIR_OK) {
        return status;
    }
    for (int v = first; v < first + count; v++) {
        char name[16];
        (void)snprintf(name, sizeof name, "edges%d", v);
        write_edges(plot.script, self, name, 2, self->views[v].axes[0]);
        write_cells(plot.script, &self->views[v], v);
    }
    fprintf(plot.script,
            "set palette defined (-1 'white', -0.02 'white', 0 '#c6dbef', %.9g '#9ecae1', %.9g '#4292c6', "
            "%.9g '#08519c', %.9g '#08244d')\nset cbrange [-1:%.9g]\n"
            "unset colorbox\nset tics font ',12'\nset xlabel font ',14'\nset ylabel font "
            "',14'\n"
            "set grid noxtics noytics\nset xlabel offset 0,0.6\nset ylabel offset 1.5,0\n"
            "set multiplot layout %d,%d margins %s,%.6g,%.6g spacing %s title \"The set {D^π H^π} %s\\n"
            "%s\"\n",
            0.25 * top, 0.5 * top, 0.75 * top, top, top, lines, columns,
            columns < 3 ? "0.11,0.99" : "0.075,0.995", margins[0], margins[1],
            columns < 3 ? "0.12"
            : lines > 1 ? "0.08,0.085"
                        : "0.08",
            first < GEOMETRY_PAIRS ? "along pairs of principal components" : "on random planes", LEGEND);
    for (int v = first; v < first + count; v++) {
        set_labels(plot.script, v);
        plot_view(&plot, &self->views[v], v);
    }
    fputs("unset multiplot\n", plot.script);
    return experiment_plot_close(&plot);
}

/* ------------------------------------------------------------------------------------ three dimensions */

nadir_status geometry_draw_space(experiment_run *run, const geometry_run *self, const char *stem,
                                 const char *label, const double *axes)
{
    experiment_csv csv;
    experiment_plot plot;
    nadir_random random = geometry_stream(run->seed, 0);
    nadir_status status = experiment_plot_open(run, stem, 1100, 620 + HEAD, &plot);
    if (status != NADIR_OK) {
        return status;
    }
    (void)experiment_csv_open(run, stem, "x,y,z", &csv);
    write_edges(plot.script, self, "edges", 3, axes);
    fputs("$cloud << EOD\n", plot.script);
    for (int n = 0; n < GEOMETRY_CLOUD; n++) {
        double chance[GEOMETRY_STATES];
        double point[N];
        geometry_policy_draw(&random, chance);
        geometry_point(&self->model, chance, point);
        for (int k = 0; k < 3; k++) {
            const double coordinate = geometry_coordinate(point, self->moments.mean, axes + k * N);
            experiment_csv_number(&csv, coordinate);
            fprintf(plot.script, "%.5g ", coordinate);
        }
        experiment_csv_end_row(&csv);
        fputs("\n", plot.script);
    }
    fprintf(plot.script,
            "EOD\nset tics font ',11'\nset border 4095 "
            "linewidth 1 linecolor rgb '#888888'\n"
            "set xyplane 0\nunset key\nunset colorbox\nset grid x y z\n"
            "set palette defined (0 '#08244d', 1 '#0072b2', 2 '#56b4e9', 3 '#f0e442')\n"
            "set xlabel '%s 1' offset 0,-0.5\nset ylabel '%s 2' offset 0,-0.5\nset zlabel "
            "'%s 3 (visits)' rotate "
            "offset 3,0\nset autoscale fix\n"
            "set multiplot layout 1,2 title \"The set {D^π H^π} along three %s\\n%s\"\n",
            label, label, label, label[0] == 'c' ? "principal components" : "random directions", LEGEND);
    for (int turn = 0; turn < 2; turn++) {
        fprintf(plot.script,
                "set view %d,%d,1.05,1.0\nset xlabel offset %d,-0.5\n"
                "splot $cloud using 1:2:3:3 with points pointtype 7 pointsize 0.22 palette, "
                "$edges using 1:2:3 with lines linewidth 2 linecolor rgb '#d55e00'\n",
                turn == 0 ? 62 : 75, turn == 0 ? 35 : 125, turn == 0 ? 0 : -1);
    }
    fputs("unset multiplot\n", plot.script);
    status = experiment_csv_close(&csv);
    return experiment_plot_finish(&plot, status);
}

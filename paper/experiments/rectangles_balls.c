/*
 * rectangles_balls.c: the three sets as pictures, where kernels are points of two or three dimensions.
 *
 * With two states a row has one number, P(1|s, a), and its change has the L_2 length sqrt(2) |change|: with
 * one action kernels are points of a plane, the ball a disc and the sa-rectangular set a square. With a
 * second action in state 0 they are points of space: a ball, a cylinder (the two rows of state 0 share a
 * radius) and a cube. The axes are the lengths of the changes of the rows.
 */
#include "rectangles_figure.h"

#include <math.h>

enum { GRID = 60, DOTS = 600, STATES = 2 };

static const double rewards[3] = {1, 0.4, 0};
static const int32_t counts[3 * STATES] = {12, 8, 10, 10, 8, 12};
static const int64_t plane_rows[STATES + 1] = {0, 1, 2};
static const int64_t space_rows[STATES + 1] = {0, 2, 3};

/* Two rows: those of action 0. The reward of the second is that of state 1. */
static rectangles_data plane_data(void)
{
    static const int32_t plane_counts[2 * STATES] = {12, 8, 8, 12};
    static const double plane_rewards[2] = {1, 0};
    return (rectangles_data){.states = STATES,
                             .rows = 2,
                             .state_rows = plane_rows,
                             .counts = plane_counts,
                             .times = 2,
                             .discount = 0.9,
                             .rewards = plane_rewards};
}

static rectangles_data space_data(void)
{
    return (rectangles_data){.states = STATES,
                             .rows = 3,
                             .state_rows = space_rows,
                             .counts = counts,
                             .times = 2,
                             .discount = 0.9,
                             .rewards = rewards};
}

/* Where the kernel is in the picture: the changes of P(1|row), as lengths. */
static void place_of(const rectangles_data *data, const double *kernel, double *place)
{
    for (int64_t row = 0; row < data->rows; row++) {
        const double total = data->counts[row * STATES] + data->counts[row * STATES + 1];
        place[row] = sqrt(2) * (kernel[row * STATES + 1] - data->counts[row * STATES + 1] / total);
    }
}

/* The radius of the ball at a confidence of 95 %, and how many kernels lie in the three sets of it. */
static nadir_status find_radius(experiment_run *run, const rectangles_data *data, rectangles_picture *picture)
{
    enum { SAMPLES = 40000 };
    nadir_status status = NADIR_OK;
    double *distances = NULL;
    NADIR_NEW(run->context, distances, RECTANGLES_SETS * SAMPLES);
    NADIR_CHECK(rectangles_sample(run->context, data, run->seed, SAMPLES, distances, NULL));
    picture->radius = rectangles_quantile(distances, SAMPLES, RECTANGLES_CONFIDENCE);
    for (int i = 0; i < RECTANGLES_SETS; i++) {
        int64_t inside = 0;
        for (int64_t n = 0; n < SAMPLES; n++) {
            inside += distances[i * SAMPLES + n] <= picture->radius;
        }
        picture->held[i] = (double)inside / SAMPLES;
    }
cleanup:
    nadir_release(run->context, distances);
    return status;
}

/* Dots: kernels that the data allow. In the script as well: place, and which sets of the radius hold it. */
static nadir_status write_dots(experiment_run *run, const rectangles_data *data, double radius,
                               const char *stem, const char *header, FILE *script)
{
    experiment_csv csv;
    nadir_random random;
    nadir_random_seed(&random, run->seed);
    (void)experiment_csv_open(run, stem, header, &csv);
    fputs("$dots << EOD\n", script);
    for (int n = 0; n < DOTS; n++) {
        double kernel[3 * STATES];
        double place[3];
        double distances[RECTANGLES_SETS];
        rectangles_draw(data, &random, kernel);
        rectangles_distances(data, kernel, distances);
        place_of(data, kernel, place);
        for (int64_t row = 0; row < data->rows; row++) {
            experiment_csv_number(&csv, place[row]);
            fprintf(script, "%.6g ", place[row]);
        }
        for (int i = 0; i < RECTANGLES_SETS; i++) {
            experiment_csv_integer(&csv, distances[i] <= radius);
        }
        fprintf(script, "%d\n", distances[0] <= radius ? 0 : distances[2] <= radius ? 1 : 2);
        experiment_csv_end_row(&csv);
    }
    fputs("EOD\n", script);
    return experiment_csv_close(&csv);
}

/* ---------------------------------------------------------------------------------------------- plane */

/* The return of the kernel at a place of the plane. */
static double return_at(const rectangles_data *data, double x, double y)
{
    static const double policy[2] = {1, 1};
    const double up[2] = {0.4 + x / sqrt(2), 0.6 + y / sqrt(2)};
    const double kernel[2 * STATES] = {1 - up[0], up[0], 1 - up[1], up[1]};
    return rectangles_return(data, kernel, policy);
}

/* The worst kernel of a set: on its border, since the return has no minimum inside. */
static void find_worst(const rectangles_data *data, double radius, bool square, double worst[3])
{
    enum { STEPS = 100000 };
    worst[0] = worst[1] = 0;
    worst[2] = INFINITY;
    for (int i = 0; i < STEPS; i++) {
        const double angle = 2 * acos(-1.0) * i / STEPS;
        const double stretch = square ? fmax(fabs(cos(angle)), fabs(sin(angle))) : 1;
        const double x = radius * cos(angle) / stretch;
        const double y = radius * sin(angle) / stretch;
        const double found = return_at(data, x, y);
        if (found < worst[2]) {
            worst[0] = x;
            worst[1] = y;
            worst[2] = found;
        }
    }
}

static void write_levels(FILE *script, const rectangles_data *data, double reach)
{
    fputs("$levels << EOD\n", script);
    for (int i = 0; i <= GRID; i++) {
        for (int j = 0; j <= GRID; j++) {
            const double x = reach * (2.0 * i / GRID - 1);
            const double y = reach * (2.0 * j / GRID - 1);
            fprintf(script, "%.6g %.6g %.6g\n", x, y, return_at(data, x, y));
        }
        fputs("\n", script);
    }
    fputs("EOD\n", script);
}

nadir_status rectangles_draw_plane(experiment_run *run, rectangles_picture *picture)
{
    const rectangles_data data = plane_data();
    experiment_plot plot;
    double disc[3];
    double square[3];
    nadir_status status = find_radius(run, &data, picture);
    status = status == NADIR_OK ? experiment_plot_open(run, "balls-plane", 1110, 660, &plot) : status;
    if (status != NADIR_OK) {
        return status;
    }
    const double r = picture->radius;
    const double reach = 1.6 * r;
    find_worst(&data, r, false, disc);
    find_worst(&data, r, true, square);
    picture->nominal = return_at(&data, 0, 0);
    picture->worst[0] = disc[2];
    picture->worst[2] = square[2];
    status = write_dots(run, &data, r, "balls-plane", "change_state_0,change_state_1,in_ball,in_s,in_sa",
                        plot.script);
    write_levels(plot.script, &data, reach);
    fprintf(
        plot.script,
        "set contour base\nunset surface\nset cntrparam levels auto 12\nset cntrlabel onecolor\n"
        "set table $lines\nsplot $levels using 1:2:3\nunset table\nunset contour\nset surface\n"
        "set size ratio -1\nset lmargin at screen 0.12\nset rmargin at screen 0.6\n"
        "set bmargin at screen 0.15\nset tmargin at screen 0.91\nset key at screen 0.605,0.5 left center\n"
        "set xrange [%.6g:%.6g]\nset yrange [%.6g:%.6g]\nset grid "
        "noxtics noytics\n"
        "set label 'Kernels with two rows that may change: the ball, and the square around it' at screen "
        "0.5, "
        "screen 0.96 center\n"
        "set xlabel 'change of the row of state 0 (L₂ length)'\n"
        "set ylabel 'change of the row of state 1 (L₂ length)'\n"
        "set object 1 circle at 0,0 size %.6g front fillstyle empty border linecolor rgb '%s' linewidth "
        "3\n"
        "set object 2 rectangle from %.6g,%.6g to %.6g,%.6g front fillstyle empty border linecolor rgb "
        "'%s' linewidth 3\n"
        "set style line 1 linecolor rgb '#56b4e9' pointtype 7 pointsize 0.5\n",
        -reach, reach, -reach, reach, r, cli_style_find("nonrect")->colour, -r, -r, r, r,
        cli_style_find("sa")->colour);
    fprintf(plot.script,
            "plot $lines using 1:2 with lines linecolor rgb '#bbbbbb' title 'equal return', "
            "$dots using 1:2 with points linestyle 1 title 'possible kernels', "
            "NaN with lines linewidth 3 linecolor rgb '%s' title 'non-rectangular ball', "
            "NaN with lines linewidth 3 linecolor rgb '%s' title 's- and sa-rectangular set', "
            "'-' with points pointtype 2 pointsize 2 linewidth 3 linecolor rgb 'black' title "
            "sprintf('nominal kernel: "
            "return %%.3f', %.9g), "
            "'-' with points pointtype 5 pointsize 2 linecolor rgb '%s' title sprintf('worst of the ball: "
            "return %%.3f', %.9g), "
            "'-' with points pointtype 7 pointsize 2 linecolor rgb '%s' title sprintf('worst of the square: "
            "return %%.3f', %.9g)\n"
            "0 0\ne\n%.9g %.9g\ne\n%.9g %.9g\ne\n",
            cli_style_find("nonrect")->colour, cli_style_find("sa")->colour, picture->nominal,
            cli_style_find("nonrect")->colour, disc[2], cli_style_find("sa")->colour, square[2], disc[0],
            disc[1], square[0], square[1]);
    return experiment_plot_finish(&plot, status);
}

nadir_status rectangles_draw_union(experiment_run *run)
{
    enum { RECTANGLES = 9 };
    experiment_plot plot;
    const nadir_status status = experiment_plot_open(run, "balls-union", 860, 560, &plot);
    if (status != NADIR_OK) {
        return status;
    }
    fputs("set size ratio -1\nset lmargin at screen 0.15\nset rmargin at screen 0.62\n"
          "set bmargin at screen 0.18\nset tmargin at screen 0.9\nset key at screen 0.65,0.5 left center\n"
          "set xrange [-1.15:1.15]\nset yrange [-1.15:1.15]\nset grid "
          "noxtics noytics\n"
          "set xtics 0.5\nset ytics 0.5\n"
          "set label 'The ball is a union of rectangular sets' at screen 0.5, screen 0.955 center\n"
          "set xlabel 'change of row 1 / β'\nset ylabel 'change of row 2 / β'\n",
          plot.script);
    for (int i = 0; i < RECTANGLES; i++) {
        const double angle = 0.5 * acos(-1.0) * (i + 0.5) / RECTANGLES;
        fprintf(
            plot.script,
            "set object %d rectangle from %.6g,%.6g to %.6g,%.6g fillcolor rgb '%s' fillstyle transparent "
            "solid 0.12 border linecolor rgb '%s'\n",
            i + 1, -cos(angle), -sin(angle), cos(angle), sin(angle), cli_style_find("sa")->colour,
            cli_style_find("sa")->colour);
    }
    fprintf(plot.script,
            "set object %d circle at 0,0 size 1 front fillstyle empty border linecolor rgb '%s' linewidth 3\n"
            "plot NaN with lines linewidth 3 linecolor rgb '%s' title 'ball ‖b‖₂ ≤ β', "
            "NaN with lines linewidth 2 linecolor rgb '%s' title 'rectangles, sides 2b, ‖b‖₂ = β'\n",
            RECTANGLES + 1, cli_style_find("nonrect")->colour, cli_style_find("nonrect")->colour,
            cli_style_find("sa")->colour);
    return experiment_plot_close(&plot);
}

/* ---------------------------------------------------------------------------------------------- space */

/* The meshes of ball, cylinder and cube of radius r, as lines. */
static void write_solids(FILE *script, double r)
{
    const double turn = 2 * acos(-1.0);
    fputs("$ball << EOD\n", script);
    for (int i = 0; i < 12; i++) { /* circles of equal latitude, then of equal longitude */
        for (int j = 0; j <= 48; j++) {
            const double along = turn * j / 48;
            const double angle = i < 5 ? turn * (i + 1) / 12 : turn * (i - 5) / 14;
            const double x = i < 5 ? sin(angle) * cos(along) : sin(along) * cos(angle);
            const double y = i < 5 ? sin(angle) * sin(along) : sin(along) * sin(angle);
            fprintf(script, "%.5g %.5g %.5g\n", r * x, r * y, r * (i < 5 ? cos(angle) : cos(along)));
        }
        fputs("\n\n", script);
    }
    fputs("EOD\n$cylinder << EOD\n", script);
    for (int i = 0; i < 5; i++) {
        for (int j = 0; j <= 48; j++) {
            const double along = turn * j / 48;
            fprintf(script, "%.5g %.5g %.5g\n", r * cos(along), r * sin(along), r * (0.5 * i - 1));
        }
        fputs("\n\n", script);
    }
    for (int i = 0; i < 12; i++) {
        const double along = turn * i / 12;
        fprintf(script, "%.5g %.5g %.5g\n%.5g %.5g %.5g\n\n\n", r * cos(along), r * sin(along), -r,
                r * cos(along), r * sin(along), r);
    }
    fputs("EOD\n$cube << EOD\n", script);
    for (int corner = 0; corner < 8; corner++) {
        for (int axis = 0; axis < 3; axis++) {
            const int end = corner | 1 << axis;
            if (end != corner) {
                fprintf(script, "%.5g %.5g %.5g\n%.5g %.5g %.5g\n\n\n", (corner & 1) ? r : -r,
                        (corner & 2) ? r : -r, (corner & 4) ? r : -r, (end & 1) ? r : -r, (end & 2) ? r : -r,
                        (end & 4) ? r : -r);
            }
        }
    }
    fputs("EOD\n", script);
}

nadir_status rectangles_draw_space(experiment_run *run, rectangles_picture *picture)
{
    static const char *const solids[RECTANGLES_SETS] = {"ball", "cylinder", "cube"};
    const rectangles_data data = space_data();
    experiment_plot plot;
    nadir_status status = find_radius(run, &data, picture);
    status = status == NADIR_OK ? experiment_plot_open(run, "balls-space", 1400, 600, &plot) : status;
    if (status != NADIR_OK) {
        return status;
    }
    const double reach = 1.35 * picture->radius;
    const double base = 1.4 * picture->radius; /* of the arrows */
    status = write_dots(run, &data, picture->radius, "balls-space",
                        "change_row_0_0,change_row_0_1,change_row_1_0,in_ball,in_s,in_sa", plot.script);
    write_solids(plot.script, picture->radius);
    fprintf(plot.script,
            "set multiplot layout 1,3 title 'Three rows that may change: the ball, and the sets around it "
            "(dots: possible kernels)'\n"
            "set view equal xyz\nset view 68,28,1.45\nset xyplane at %.5g\n"
            "set xrange [%.5g:%.5g]\nset yrange [%.5g:%.5g]\nset zrange [%.5g:%.5g]\nunset key\n"
            "set border 0\nunset tics\nset title offset 0,0\n",
            -reach, -reach, reach, -reach, reach, -reach, reach);
    for (int axis = 0; axis < 3; axis++) { /* arrows from the lowest corner, a label at the end of each */
        static const char *const names[3] = {"row (0, 0)", "row (0, 1)", "row (1, 0)"};
        double end[3] = {-base, -base, -base};
        end[axis] = -0.65 * base;
        fprintf(plot.script,
                "set arrow from %.5g,%.5g,%.5g to %.5g,%.5g,%.5g linewidth 1.5 linecolor rgb '#888888'\n"
                "set label '%s' at %.5g,%.5g,%.5g offset 0.5,0 font ',13'\n",
                -base, -base, -base, end[0], end[1], end[2], names[axis], end[0], end[1], end[2]);
    }
    for (int i = 0; i < RECTANGLES_SETS; i++) {
        const cli_style *style = cli_style_find(nadir_set_name(rectangles_sets[i]));
        fprintf(plot.script,
                "set title '%s: %s, holds %.1f %%'\n"
                "splot $dots using 1:2:3 with points pointtype 7 pointsize 0.35 linecolor rgb '#56b4e9', "
                "$%s using 1:2:3 with lines linewidth 1.5 linecolor rgb '%s'\n",
                style->label, solids[i], 100 * picture->held[i], solids[i], style->colour);
        fputs("unset arrow\nunset label\n", plot.script);
    }
    fputs("unset multiplot\n", plot.script);
    return experiment_plot_finish(&plot, status);
}

/* gnuplot.c: pictures drawn by gnuplot, their colours and marks; see gnuplot.h. */
#include "gnuplot.h"

#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* "svg", "png" or NULL. */
static const char *picture_format(const char *path)
{
    const char *dot = strrchr(path, '.');
    if (dot == NULL || (strcmp(dot, ".svg") != 0 && strcmp(dot, ".png") != 0)) {
        return NULL;
    }
    return dot + 1;
}

nadir_status cli_gnuplot_check(cli_run *run, const char *path)
{
    return path == NULL || picture_format(path) != NULL
               ? NADIR_OK
               : cli_fail(run, NADIR_ERROR_UNSUPPORTED, "%s: a picture ends with .svg or .png", path);
}

nadir_status cli_gnuplot_open(cli_run *run, const char *path, int width, int height, int font,
                              cli_gnuplot *plot)
{
    const char *format = picture_format(path);
    plot->path = path;
    plot->height = height;
    plot->script = tmpfile();
    if (plot->script == NULL) {
        return cli_fail(run, NADIR_ERROR_IO, "%s: no temporary file: %s", path, strerror(errno));
    }
    if (format != NULL && strcmp(format, "svg") == 0) {
        fprintf(plot->script,
                "set terminal svg size %d,%d font 'sans,%d' dashlength 0.5 noenhanced background 'white'\n",
                width, height, font);
    } else {
        fprintf(
            plot->script,
            "set terminal pngcairo size %d,%d font 'sans,%d' pointscale 2 noenhanced background 'white'\n",
            width, height, font);
    }
    return NADIR_OK;
}

void cli_gnuplot_text(const cli_gnuplot *plot, const char *text)
{
    fputc('\'', plot->script);
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++) {
        const bool harmless = *at >= ' ' && *at != 0x7f && strchr("'`\\@", *at) == NULL;
        fputc(harmless ? *at : '.', plot->script);
    }
    fputc('\'', plot->script);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* Centred on the picture: a title of gnuplot's is centred on the axes, and cut off where it is longer. */
static void write_title_line(const cli_gnuplot *plot, const char *text, int place)
{
    fputs("set label ", plot->script);
    cli_gnuplot_text(plot, text);
    fprintf(plot->script, " at screen 0.5, screen %.6g center%s\n", 1 - (28.0 + 26.0 * place) / plot->height,
            place > 0 ? " font ',15' textcolor rgb '#444444'" : "");
}

void cli_gnuplot_title(const cli_gnuplot *plot, const char *model, const char *policy, const char *shows,
                       const char *detail)
{
    char text[512];
    (void)snprintf(text, sizeof text, "%.150s%s%.150s: %s", base_name(model),
                   policy != NULL ? ", policy " : "", policy != NULL ? base_name(policy) : "", shows);
    write_title_line(plot, text, 0);
    int count = 1;
    for (const char *line = detail; line != NULL; count++) {
        const char *end = strchr(line, '\n');
        (void)snprintf(text, sizeof text, "%.*s", end != NULL ? (int)(end - line) : (int)sizeof text - 1,
                       line);
        write_title_line(plot, text, count);
        line = end != NULL ? end + 1 : NULL;
    }
    fprintf(plot->script, "set tmargin at screen %.6g\n", 1 - (26.0 * count + 34) / plot->height);
}

void cli_gnuplot_key(const cli_gnuplot *plot, int lines)
{
    enum { LINE = 30, AXIS = 105 };
    fprintf(plot->script,
            "set key at screen 0.08, screen %.4g left bottom vertical maxcols 1 Left reverse "
            "samplen 3\n"
            "set bmargin at screen %.6g\n",
            10.0 / plot->height, (double)(LINE * lines + AXIS) / plot->height);
}

double cli_gnuplot_step(double range, double count)
{
    const double least = range / count;
    const double power = pow(10, floor(log10(least)));
    return power * (least <= power ? 1 : least <= 2 * power ? 2 : least <= 5 * power ? 5 : 10);
}

int cli_gnuplot_digits(double low, double high)
{
    const double digits = floor(log10(fmax(fabs(low), fabs(high)))) - floor(log10((high - low) / 10)) + 1;
    return digits > 6 ? (int)fmin(digits, 17) : 6;
}

/* The environment with a locale that has UTF-8 and a decimal point, wherever we run: gnuplot warns of others.
 * To be freed; NULL: no memory. */
static char **make_environment(void)
{
    static char locale[] = "LC_ALL=C.UTF-8";
    size_t count = 0;
    size_t kept = 0;
    while (environ[count] != NULL) {
        count++;
    }
    char **made = malloc((count + 2) * sizeof *made);
    if (made == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        if (strncmp(environ[i], "LC_ALL=", 7) != 0) {
            made[kept++] = environ[i];
        }
    }
    made[kept++] = locale;
    made[kept] = NULL;
    return made;
}

/* Starts gnuplot, deaf to Ctrl-C: the picture under way is finished, and who waits for it then stops. Returns
 * errno. */
static int start(int from, int to, char **environment, pid_t *child)
{
    char *const arguments[] = {"gnuplot", "-d", "-", NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t deaf;
    int error = posix_spawn_file_actions_init(&actions);
    if (error != 0) {
        return error;
    }
    error = posix_spawnattr_init(&attributes);
    if (error == 0) {
        (void)sigemptyset(&deaf);
        (void)sigaddset(&deaf, SIGINT);
        (void)posix_spawnattr_setsigmask(&attributes, &deaf);
        (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
        error = posix_spawn_file_actions_adddup2(&actions, from, STDIN_FILENO);
        if (error == 0) {
            error = posix_spawn_file_actions_adddup2(&actions, to, STDOUT_FILENO);
        }
        if (error == 0) {
            error = posix_spawnp(child, arguments[0], &actions, &attributes, arguments, environment);
        }
        (void)posix_spawnattr_destroy(&attributes);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* What gnuplot writes, to the file. Returns errno, or -1 when that is nothing. */
static int copy_picture(int from, FILE *to)
{
    char bytes[1 << 14];
    ssize_t count = 1;
    bool drawn = false;
    while (count != 0) {
        count = read(from, bytes, sizeof bytes);
        if (count < 0 && errno != EINTR) {
            return errno;
        }
        if (count > 0) {
            (void)fwrite(bytes, 1, (size_t)count, to); /* closing the file tells of failures */
            drawn = true;
        }
    }
    return drawn ? 0 : -1;
}

/* Runs gnuplot on a script, whatever the user's own settings of it are (-d); its messages go to our stderr.
 * The picture comes through a pipe: gnuplot itself says nothing when a disk is full. Returns errno, or -1
 * when gnuplot did not do it. */
static int draw(int script, FILE *to)
{
    pid_t child;
    int result = 0;
    int ends[2];
    char **environment = make_environment();
    if (environment == NULL) {
        return ENOMEM;
    }
    int error = pipe2(ends, O_CLOEXEC) != 0 ? errno : 0;
    if (error != 0) {
        free(environment);
        return error;
    }
    error = start(script, ends[1], environment, &child);
    free(environment);
    (void)close(ends[1]);
    if (error == 0) {
        error = copy_picture(ends[0], to);
        (void)close(ends[0]); /* before waiting: who cannot go on writing ends */
        while (waitpid(child, &result, 0) < 0 && errno == EINTR) {
        }
    } else {
        (void)close(ends[0]);
    }
    if (error > 0) {
        return error;
    }
    if (WIFEXITED(result) && WEXITSTATUS(result) == 127) { /* as spawning says it where it cannot return it */
        return ENOENT;
    }
    return WIFEXITED(result) && WEXITSTATUS(result) == 0 ? error : -1;
}

static nadir_status fail(cli_run *run, const char *path, int error)
{
    if (error == ENOENT) {
        return cli_fail(run, NADIR_ERROR_IO,
                        "%s: pictures need gnuplot, which is not there: install it (Debian: gnuplot-nox)",
                        path);
    }
    return cli_fail(run, error == ENOMEM ? NADIR_ERROR_MEMORY : NADIR_ERROR_IO, "%s: drawing failed: %s",
                    path, error < 0 ? "gnuplot did not do it" : strerror(error));
}

nadir_status cli_gnuplot_close(cli_run *run, cli_gnuplot *plot)
{
    cli_output output = {0};
    const bool written = fflush(plot->script) == 0 && ferror(plot->script) == 0;
    nadir_status status = written ? cli_output_open(run, plot->path, &output) : fail(run, plot->path, EIO);
    if (output.out != NULL) {
        rewind(plot->script);
        const int error = draw(fileno(plot->script), output.out);
        if (error == 0) {
            status = cli_output_close(run, &output);
        } else {
            cli_output_drop(&output);
            status = fail(run, plot->path, error);
        }
    }
    (void)fclose(plot->script);
    plot->script = NULL;
    return status;
}

/* Marks of gnuplot: 1 plus, 2 cross, 3 star, 4 and 5 square, 6 and 7 circle, 8 and 9 triangle, 10 and 11
 * triangle downwards, 12 and 13 diamond; the odd ones are full. */
static const cli_style styles[] = {
    /* methods of robust evaluation, and of the norm over the cone */
    {"exact", "exact", "#000000", 7, 2},
    {"auto", "nadir (auto)", "#000000", 7, 1},
    {"newton", "Newton", "#0072b2", 5, 1},
    {"bisect", "bisection, exact F", "#56b4e9", 4, 1},
    {"best-response", "best response", "#117733", 8, 1},
    {"paper", "paper: Algorithms 1 and 2", "#d55e00", 9, 1},
    {"paper-reduced", "paper, states × states", "#a05000", 10, 4},
    {"slsqp", "SLSQP", "#009e73", 13, 1},
    {"slsqp-scaled", "SLSQP, scaled", "#44aa99", 12, 4},
    {"random-rank-one", "random rank-one kernels", "#cc79a7", 11, 1},
    {"random-kernel", "random kernels", "#e69f00", 6, 1},
    {"random-kernel-projected", "random kernels, projected", "#ddaa33", 2, 1},
    {"conservative", "conservative kernel iteration", "#882255", 3, 1},
    {"random", "random search", "#e69f00", 6, 1},
    {"spectral", "paper: Algorithm 2", "#d55e00", 9, 1},
    {"power", "nadir: projected power", "#0072b2", 5, 1},
    {"bound", "upper bound", "#888888", 1, 2},
    /* sets and domains */
    {"nonrect", "non-rectangular", "#0072b2", 5, 1},
    {"s", "s-rectangular", "#e69f00", 9, 1},
    {"sa", "sa-rectangular", "#882255", 7, 1},
    {"free", "free", "#d55e00", 9, 1},
    {"simplex", "simplex", "#0072b2", 5, 1},
    {"support", "support", "#009e73", 13, 1},
    /* parts */
    {"nominal", "nominal", "#888888", 6, 1},
    {"reference", "reference", "#888888", 1, 2},
};

const cli_style *cli_style_find(const char *name)
{
    static const cli_style unknown = {"", "", "#888888", 1, 1};
    for (size_t i = 0; i < sizeof styles / sizeof *styles; i++) {
        if (strcmp(styles[i].name, name) == 0) {
            return &styles[i];
        }
    }
    return &unknown;
}

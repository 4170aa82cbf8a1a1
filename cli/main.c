/* main.c: the nadir command: finds the subcommand and runs it. */
#include "cli.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

static const cli_command *const commands[] = {
    &cli_command_info,    &cli_command_convert,  &cli_command_generate,  &cli_command_fit,
    &cli_command_solve,   &cli_command_evaluate, &cli_command_sweep,     &cli_command_radius,
    &cli_command_verify,  &cli_command_gradient, &cli_command_optimize,  &cli_command_report,
    &cli_command_compare, &cli_command_norm,     &cli_command_reproduce,
};

enum { COMMANDS = sizeof commands / sizeof commands[0] };

static void print_overview(FILE *out)
{
    fputs("Usage: nadir COMMAND ...\n"
          "\n"
          "Markov decision processes whose transition kernel is only known up to a ball: how badly can a "
          "policy\n"
          "do, and which policy does best in the worst case?\n"
          "\n"
          "Commands:\n",
          out);
    for (size_t i = 0; i < COMMANDS; i++) {
        fprintf(out, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    }
    fputs("\n"
          "'nadir COMMAND --help' tells more about one of them. 'nadir --version' prints the version.\n"
          "\n"
          "Exit status: 0 done; 2 wrong usage; 3 bad model, policy or file; 4 ill-posed request; 5 not "
          "converged;\n"
          "6 out of memory or I/O failure; 7 interrupted; 8 verification failed.\n",
          out);
}

static const cli_command *find_command(const char *name)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strcmp(commands[i]->name, name) == 0) {
            return commands[i];
        }
    }
    return NULL;
}

static int run_command(const char *name, int argc, char **argv)
{
    const cli_command *command = find_command(name);
    if (command == NULL) {
        const char *names[COMMANDS];
        for (size_t i = 0; i < COMMANDS; i++) {
            names[i] = commands[i]->name;
        }
        const char *nearest = cli_options_nearest(name, strlen(name), COMMANDS, names);
        if (nearest != NULL) {
            fprintf(stderr, "nadir: there is no command '%s'; did you mean %s?\n", name, nearest);
        } else {
            fprintf(stderr, "nadir: there is no command '%s'; 'nadir --help' lists them\n", name);
        }
        return CLI_EXIT_USAGE;
    }
    cli_run run = {.command = command->name};
    return command->main(&run, argc, argv);
}

static int run_main(int argc, char **argv)
{
    if (argc < 2) {
        print_overview(stderr);
        return CLI_EXIT_USAGE;
    }
    const char *first = argv[1];
    if (strcmp(first, "--version") == 0) {
        printf("nadir %s\n", nadir_version());
        return CLI_EXIT_DONE;
    }
    if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0 ||
        (strcmp(first, "help") == 0 && argc == 2)) {
        print_overview(stdout);
        return CLI_EXIT_DONE;
    }
    if (strcmp(first, "help") == 0) {
        char *help[] = {"--help"};
        return run_command(argv[2], 1, help);
    }
    return run_command(first, argc - 2, argv + 2);
}

/* Some file systems tell only at the end that something was lost. Where standard output was closed from the
 * start nothing is, unless something was printed. */
static bool close_output(void)
{
    const bool written = fflush(stdout) == 0 && ferror(stdout) == 0;
    const bool closed = fclose(stdout) == 0 || errno == EBADF || errno == EINTR;
    return written && closed;
}

/* Long vectors and matrices are allocated and freed again and again. By default malloc returns each to the
 * system, which clears the pages of the next one. Keep them instead: the process needs them until it ends. */
static void keep_freed_memory(void)
{
#ifdef __GLIBC__
    (void)mallopt(M_MMAP_MAX, 0);
    (void)mallopt(M_TRIM_THRESHOLD, INT_MAX);
#endif
}

int main(int argc, char **argv)
{
    keep_freed_memory();
    int status = run_main(argc, argv);
    if (!close_output()) {
        fputs("nadir: writing to standard output failed\n", stderr);
        status = status == CLI_EXIT_DONE ? CLI_EXIT_IO : status;
    }
    return status;
}

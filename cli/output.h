/* output.h: files that are written whole or not at all. */
#ifndef NADIR_CLI_OUTPUT_H
#define NADIR_CLI_OUTPUT_H

#include "cli.h"

/* It stays where it was opened: the stream points to it. */
typedef struct cli_output {
    const char *path;
    FILE *out; /* write to this; NULL: closed */
    int descriptor;
    int error; /* errno of the first write that failed; 0: none */
    char temporary[4096];
} cli_output;

nadir_status cli_output_open(cli_run *run, const char *path, cli_output *output);
/* Gives the file its name, once all of it is on the disk. */
nadir_status cli_output_close(cli_run *run, cli_output *output);
/* Leaves no file. */
void cli_output_drop(cli_output *output);

#endif

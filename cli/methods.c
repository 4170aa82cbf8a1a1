/* methods.c: the methods of the library as choices of an option, and what --help says of them; see cli.h. */
#include "cli.h"

#include <string.h>

/* Adds text to what stands in a buffer, as far as it fits. */
static void append(char *buffer, size_t size, const char *text)
{
    const size_t used = strlen(buffer);
    (void)snprintf(buffer + used, size - used, "%s", text);
}

void cli_methods_list(cli_methods *methods, const char *introduction)
{
    const char *name;
    methods->choices[0] = '\0';
    methods->help[0] = '\0';
    append(methods->help, sizeof methods->help, introduction);
    for (int64_t i = 0; (name = nadir_method_name(i)) != NULL; i++) {
        append(methods->choices, sizeof methods->choices, i > 0 ? "|" : "");
        append(methods->choices, sizeof methods->choices, name);
        append(methods->help, sizeof methods->help, "\n");
        append(methods->help, sizeof methods->help, name);
        append(methods->help, sizeof methods->help, ": ");
        append(methods->help, sizeof methods->help, nadir_method_summary(i));
    }
}

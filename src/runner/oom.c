#include "runner/oom.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number behind `key` in a file of lines "key number"; -1 where there is none. */
static int64_t number_in(const char *path, const char *key)
{
    char line[256];
    int64_t value = -1;
    size_t length = strlen(key);
    FILE *file = fopen(path, "re");
    while (file && value < 0 && fgets(line, sizeof line, file))
        if (strncmp(line, key, length) == 0 && line[length] == ' ')
            value = strtoll(line + length, NULL, 10);
    if (file)
        fclose(file);
    return value;
}

/* A line of /proc/self/cgroup: "0::/user.slice/…" (version 2), "4:memory:/…" (version 1). */
static int64_t number_of_group(const char *root, char *line)
{
    char path[1024];
    line[strcspn(line, "\n")] = '\0';
    const char *group = strchr(line, '/');
    if (!group)
        return -1;
    if (strncmp(line, "0::", 3) == 0)
        snprintf(path, sizeof path, "%s/sys/fs/cgroup%s/memory.events", root, group);
    else if (strstr(line, ":memory:"))
        snprintf(path, sizeof path, "%s/sys/fs/cgroup/memory%s/memory.oom_control", root, group);
    else
        return -1;
    return number_in(path, "oom_kill");
}

int64_t assay_oom_kills(const char *root)
{
    char path[1024], line[1024];
    int64_t n = -1;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *groups = fopen(path, "re");
    while (groups && n < 0 && fgets(line, sizeof line, groups))
        n = number_of_group(root, line);
    if (groups)
        fclose(groups);
    if (n >= 0)
        return n;
    snprintf(path, sizeof path, "%s/proc/vmstat", root);
    return number_in(path, "oom_kill");
}

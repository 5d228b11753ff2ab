# SPDX-License-Identifier: Apache-2.0
#
# Completes command lines of forebay in fish. The command itself returns the proposals, one
# `type,value` a line, the value with a tab and its description.
function __forebay_complete
    set -l proposals (env _FOREBAY_COMPLETE=fish_complete COMP_WORDS=(commandline -cp) \
        COMP_CWORD=(commandline -t) forebay 2>/dev/null)
    for proposal in $proposals
        set -l parts (string split -m 1 , -- $proposal)
        switch $parts[1]
            case plain
                echo $parts[2]
            case dir
                __fish_complete_directories (commandline -t)
            case file
                __fish_complete_path (commandline -t)
        end
    end
end
complete --no-files --command forebay --arguments '(__forebay_complete)'

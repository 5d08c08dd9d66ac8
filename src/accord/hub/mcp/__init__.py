"""What assistants find beside the tools: resources, prompts, completions, changes.

face          the server of it all
resources     what stands at which URI, by which operation it is read
listed        items as a list of resources
prompts       prompts of the database, and the active one as the server's instructions
completions   what an id, a status, a name could be
guard         every request is somebody's, and is on record
announce      tells other processes of a change
feed          hears of changes, wherever they are made
touched       which URIs a change concerns; pure
"""

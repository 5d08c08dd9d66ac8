"""Components of a server: tools, resources and prompts, and their lists.

tools        tools, and functions as tools
resources    resources and templates: functions, fixed values, files, folders
prompts      prompts, and functions as prompts
handler      functions of the application: injected parameters, calls, completions
parameters   descriptions, defaults and schemas of a function's parameters
content      results of functions as content
registry     components by name, and which of them a client sees
lists        encoded lists of components, and sources outside the registries
"""

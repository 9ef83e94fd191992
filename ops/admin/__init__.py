"""The admin server: who may use the web in each project, and what the fleet is doing; an API and pages.

`app.make_app` is the application, `python -m ops.admin` serves it on loopback.
"""

(define (domain logistics)
  (:requirements :strips :typing)
  (:types airplane airport city location package truck)
  (:predicates (at ?x ?y) (in ?x ?y) (in-city ?x ?y))
  (:action load-truck
    :parameters (?o - package ?t - truck ?l - (either airport location))
    :precondition (and (at ?t ?l) (at ?o ?l))
    :effect (and (in ?o ?t) (not (at ?o ?l))))
  (:action unload-truck
    :parameters (?o - package ?t - truck ?l - (either airport location))
    :precondition (and (at ?t ?l) (in ?o ?t))
    :effect (and (at ?o ?l) (not (in ?o ?t))))
  (:action load-airplane
    :parameters (?o - package ?a - airplane ?l - (either airport location))
    :precondition (and (at ?a ?l) (at ?o ?l))
    :effect (and (in ?o ?a) (not (at ?o ?l))))
  (:action unload-airplane
    :parameters (?o - package ?a - airplane ?l - (either airport location))
    :precondition (and (at ?a ?l) (in ?o ?a))
    :effect (and (at ?o ?l) (not (in ?o ?a))))
  (:action drive
    :parameters (?t - truck ?from - (either airport location) ?to - (either airport location) ?c - city)
    :precondition (and (at ?t ?from) (in-city ?from ?c) (in-city ?to ?c))
    :effect (and (at ?t ?to) (not (at ?t ?from))))
  (:action fly
    :parameters (?a - airplane ?from - airport ?to - airport)
    :precondition (and (at ?a ?from))
    :effect (and (at ?a ?to) (not (at ?a ?from)))))

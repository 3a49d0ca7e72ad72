(define (domain gripper)
  (:requirements :strips :typing)
  (:types ball gripper room)
  (:predicates (at-robot ?x) (at ?x ?y) (free ?x) (carry ?x ?y))
  (:action move
    :parameters (?from - room ?to - room)
    :precondition (and (at-robot ?from))
    :effect (and (at-robot ?to) (not (at-robot ?from))))
  (:action pick
    :parameters (?b - ball ?r - room ?g - gripper)
    :precondition (and (at ?b ?r) (at-robot ?r) (free ?g))
    :effect (and (carry ?b ?g) (not (at ?b ?r)) (not (free ?g))))
  (:action drop
    :parameters (?b - ball ?r - room ?g - gripper)
    :precondition (and (carry ?b ?g) (at-robot ?r))
    :effect (and (at ?b ?r) (free ?g) (not (carry ?b ?g)))))
